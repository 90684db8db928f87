// Package lookup makes Views of real clusters for the decisions of
// berth.dev/berth/webhook/claim: from informers ([Store], [Informers]), from
// live reads laid over them ([Live]), and from files ([ReadClusterFile]).
//
// # The picture
//
// A [Store] holds Berth's own small types, not API objects: the informers turn
// every object into one as soon as it is decoded, in lists, in streamed lists
// and in watches alike. Each write makes a new immutable snapshot, which
// shares with the one before all that did not change; [Store.View] loads the
// current one. So a decision sees one consistent picture, never waits for a
// writer, and finds by index what it asks for, whatever the number of nodes.
//
// # Live reads
//
// No decision may rest on a picture that lags (a PVC created just before its
// pod). [Live] answers the questions of a decision from the API server. Askers
// share a call only if it had not been sent when they came, so that an answer
// is never older than the question.
package lookup

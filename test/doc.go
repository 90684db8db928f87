// Package test holds what is checked of Berth as a whole: the built program,
// over its real interfaces. It has no code of its own, only tests.
//
// # Fixtures
//
// fixtures/<subject>/<case>/ is one admission review and its answer:
//
//   - case.yaml says in one sentence what the case proves, which cluster and
//     flags it runs under, and what the answer must be, written by hand.
//   - review.json is the AdmissionReview as the API server sends it.
//   - golden.json is the whole answer, with the JSON Patch decoded.
//
// fixtures/clusters/ holds the clusters, as --cluster-file reads them. Every
// fixture goes over verified HTTPS through berth serve, its patch is applied by
// the library that the API server uses, and the pod that comes of it is reviewed
// again on both paths.
//
// UPDATE_GOLDEN=1 go test -v ./test/ writes the goldens anew and says which; no
// golden is written of an answer that case.yaml contradicts.
//
// # Demo
//
// demo/demo.sh shows a dozen reviews at work, with curl and jq alone.
package test

// Package admission turns AdmissionReviews into decisions.
//
// Data flows one way: DecodeReview reads the bytes, Decide judges the object
// against a View of the cluster, and Decision.Respond writes the answer. All of
// it is pure; what a decision could not see in the View it marks in
// [claim.Reads], and the caller reads that live and decides again.
//
// # Pods
//
// /mutate judges the CREATE of a pod: it resolves the node the pod is pinned to
// (claim.Resolve), chooses that node's PVC for each node-local claim
// (claim.Choose) and replaces the claimNames by a JSON Patch, all or none.
// /validate is its twin: it sees the final object, after every other webhook,
// and refuses only what would mount the wrong thing.
//
// # Outcomes
//
//	allowed    nothing of it is Berth's business, or it is right as it stands
//	rewritten  allowed, with a patch
//	refused    a [claim.Reason] says why; the package doc of claim has the table of reasons, codes and who has to act
//	error      no decision could be made: ClusterUnreadable, InvalidObject and InternalError
//
// A refusal's status has the code of its reason (422, 503, 400 or 500) and the
// matching general reason of the Kubernetes API (Forbidden, ServiceUnavailable,
// BadRequest, InternalError). It is never Invalid, nor a word of Berth's own:
// apierrors.IsInvalid holds for both at code 422, and kubectl then prints the
// causes and drops the message (cmd/util/helpers.go).
package admission

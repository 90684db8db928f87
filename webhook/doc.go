// Package webhook is the HTTP shell around the pure rooms webhook/claim and
// webhook/admission: it reads AdmissionReviews, walks the one [Pipeline],
// writes the answers, and tells operators how it goes (metrics, readiness,
// one log record per decision).
//
// Two servers run side by side. The admission server speaks HTTPS and answers
// POST /mutate and POST /validate. The metrics server speaks plain HTTP and
// answers /livez, /readyz and /metrics.
//
// # HTTP codes
//
// A review that can be answered is answered with 200 and its own uid, also
// when the request is refused: the code of the refusal stands in the review.
// Everything else is one line of text:
//
//	400  the body is no AdmissionReview of admission.k8s.io/v1, or was cut off
//	404  another path
//	405  another method than POST
//	408  the body did not arrive in time
//	413  the body is larger than allowed
//	415  the content type is not application/json
//	500  a bug, met before the uid was known
//	503  the cluster has not been read yet, or too many large bodies are held
//
// The package knows no client and no certificate source: both come in through
// the small interfaces and functions of [Config] and [NewPipeline].
package webhook

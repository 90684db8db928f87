package webhook

import "net/http"

// cause is why a request got an HTTP error instead of a review. It decides the
// status, and is a label of berth_http_errors_total.
type cause string

const (
	causeNotReady    cause = "notready"    // the cluster has not been read yet
	causeBusy        cause = "busy"        // too many bytes of reviews are held already
	causeTooLarge    cause = "toolarge"    // the body is over --max-request-bytes
	causeSlow        cause = "slow"        // the body did not arrive in time
	causeIncomplete  cause = "incomplete"  // the body could not be read to its end
	causeContentType cause = "contenttype" // the body is not said to be JSON
	causeMalformed   cause = "malformed"   // the body is no AdmissionReview
	causeInternal    cause = "internal"    // a bug, met before the review's uid was known
)

// codes are the HTTP statuses of all causes.
var codes = map[cause]int{
	causeNotReady:    http.StatusServiceUnavailable,
	causeBusy:        http.StatusServiceUnavailable,
	causeTooLarge:    http.StatusRequestEntityTooLarge,
	causeSlow:        http.StatusRequestTimeout,
	causeIncomplete:  http.StatusBadRequest,
	causeContentType: http.StatusUnsupportedMediaType,
	causeMalformed:   http.StatusBadRequest,
	causeInternal:    http.StatusInternalServerError,
}

// httpError is an answer that is no review: one line of text.
type httpError struct {
	cause cause
	line  string
}

// Error is the line.
func (e *httpError) Error() string { return e.line }

// code is the HTTP status.
func (e *httpError) code() int { return codes[e.cause] }

// leavesBody tells whether the body may be unread, in the way of the
// connection's next request.
func (e *httpError) leavesBody() bool {
	switch e.cause {
	case causeNotReady, causeBusy, causeTooLarge, causeSlow:
		return true
	default:
		return false
	}
}

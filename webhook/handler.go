package webhook

import (
	"errors"
	"log/slog"
	"net/http"
	"time"

	"berth.dev/berth/webhook/admission"
)

// reviewHandler answers the reviews of one road.
type reviewHandler struct {
	road     admission.Road
	pipeline *Pipeline
	limit    int64 // bytes of a body
	bodies   *bodies
	ready    *readiness
	metrics  *Metrics
	log      *slog.Logger
}

// ServeHTTP answers one POST: with a review wherever that is possible, else
// with one line of text.
func (h *reviewHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	if problem := h.admit(r); problem != nil {
		h.fail(w, problem)
		return
	}
	body := h.bodies.get()
	// Last of all: the request and the decision may point into the body.
	defer h.bodies.put(body)
	release, problem := h.bodies.read(w, r, h.limit, body)
	defer release()
	if problem != nil {
		h.fail(w, problem)
		return
	}
	answer, out, err := h.pipeline.Review(r.Context(), h.road, body.Bytes(), arrived.Add(budget(r.URL.RawQuery)))
	if out.Panic != nil {
		h.reportPanic(r, out)
	}
	if err != nil {
		h.fail(w, failure(err))
		return
	}
	h.hangUp(w)
	writeReview(w, answer)
	h.metrics.observe(out.Request, &out.Decision, time.Since(arrived))
	logDecision(r.Context(), h.log, &out)
}

// admit tells, before the body is read, whether the request can be served.
func (h *reviewHandler) admit(r *http.Request) *httpError {
	if problem := checkContentType(r.Header.Get("Content-Type")); problem != nil {
		return problem
	}
	if err := h.ready.synced(); err != nil {
		return &httpError{causeNotReady, "berth is not ready: " + err.Error()}
	}
	return nil
}

// failure is the answer to a review that has none.
func failure(err error) *httpError {
	if errors.As(err, new(*PanicError)) {
		return &httpError{causeInternal, "berth failed to read the review: internal error"}
	}
	return &httpError{causeMalformed, short(err.Error())}
}

// fail answers with one line. The connection is closed where an unread body
// may be in the way of the next request.
func (h *reviewHandler) fail(w http.ResponseWriter, problem *httpError) {
	h.metrics.observeFailure(problem.cause)
	h.log.Debug("request failed", "code", problem.code(), "cause", string(problem.cause), "error", oneLine(problem.line))
	if problem.leavesBody() {
		w.Header().Set("Connection", "close")
	} else {
		h.hangUp(w)
	}
	writeLine(w, problem.code(), problem.line)
}

// hangUp asks the client, while the server drains, to dial again for its next
// request: it will reach another replica. Over HTTP/2 net/http makes a GOAWAY of it.
func (h *reviewHandler) hangUp(w http.ResponseWriter) {
	if h.ready.draining.Load() {
		w.Header().Set("Connection", "close")
	}
}

// reportPanic counts and logs a bug that a review met.
func (h *reviewHandler) reportPanic(r *http.Request, out Outcome) {
	h.metrics.panics.Inc()
	uid := ""
	if out.Request != nil {
		uid = out.Request.UID
	}
	h.log.LogAttrs(r.Context(), slog.LevelError, "panic while a review was decided",
		slog.String("uid", short(uid)), slog.String("error", short(out.Panic.Error())), slog.String("stack", string(out.Panic.Stack)))
}

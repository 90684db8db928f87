package webhook

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
)

// readiness says whether the server should get requests.
type readiness struct {
	cluster     func() error // nil: nothing to wait for
	certificate func() error // nil: no certificate to serve with
	draining    atomic.Bool  // shutting down
}

// synced is nil once the whole cluster has been read.
func (r *readiness) synced() error {
	if r.cluster == nil {
		return nil
	}
	return r.cluster()
}

// reasons are what stands in the way of readiness, one a line; empty if ready.
func (r *readiness) reasons() []string {
	var out []string
	if r.draining.Load() {
		out = append(out, "shutting down")
	}
	if err := r.synced(); err != nil {
		out = append(out, lines(err)...)
	}
	if r.certificate != nil {
		if err := r.certificate(); err != nil {
			out = append(out, "certificate: "+oneLine(err.Error()))
		}
	}
	return out
}

// lines are the errors joined in err, one a line each.
func lines(err error) []string {
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) {
		return []string{oneLine(err.Error())}
	}
	var out []string
	for _, e := range joined.Unwrap() {
		out = append(out, oneLine(e.Error()))
	}
	return out
}

// ServeHTTP answers /readyz: 200, or 503 with the reasons.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if reasons := r.reasons(); len(reasons) > 0 {
		writeText(w, http.StatusServiceUnavailable, strings.Join(reasons, "\n")+"\n")
		return
	}
	writeLine(w, http.StatusOK, "ok")
}

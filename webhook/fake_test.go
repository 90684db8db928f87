package webhook

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// emptyView is a cluster without objects. With a claim in it, that claim has
// one node PVC, of node-a.
type emptyView struct{ claim string }

func (v emptyView) View() claim.View { return v }

func (emptyView) Node(string) *claim.Node                   { return nil }
func (emptyView) NodesByLabel(string, string) []*claim.Node { return nil }
func (emptyView) AllNodes() iter.Seq[*claim.Node]           { return func(func(*claim.Node) bool) {} }
func (emptyView) PVC(string, string) *claim.PVC             { return nil }
func (emptyView) NodePVCs(_, _, _ string) []*claim.PVC      { return nil }
func (emptyView) PV(string) *claim.PV                       { return nil }
func (emptyView) AvailablePVs(string) []*claim.PV           { return nil }
func (emptyView) StorageClass(string) *claim.StorageClass   { return nil }

func (v emptyView) Summary(_, name string) claim.Summary {
	if v.claim == "" || name != v.claim {
		return claim.Summary{}
	}
	return claim.Summary{Total: 1, Live: 1, Named: 1, Revisions: 1}
}

func (v emptyView) Holders(_, name string) []string {
	if v.claim == "" || name != v.claim {
		return nil
	}
	return []string{"node-a"}
}

// panicView is a cluster that can't be looked at.
type panicView struct{}

func (panicView) View() claim.View { panic("the view is broken") }

// reader is a live reader: it answers with nothing found, and remembers.
type reader struct {
	mu        sync.Mutex
	calls     [][]claim.Question
	deadlines []time.Time
	answer    func(claim.Question) claim.Answer
	err       error
}

func (r *reader) Read(ctx context.Context, questions []claim.Question) (claim.Facts, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, questions)
	deadline, _ := ctx.Deadline()
	r.deadlines = append(r.deadlines, deadline)
	if r.err != nil {
		return nil, r.err
	}
	facts := claim.Facts{}
	for _, q := range questions {
		facts[q] = claim.Answer{}
		if r.answer != nil {
			facts[q] = r.answer(q)
		}
	}
	return facts, nil
}

// quiet is a log that nobody reads.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// pipelineOf is a pipeline with default rules over a view.
func pipelineOf(views Views, live LiveReader) *Pipeline {
	rules := claim.DefaultRules()
	return NewPipeline(views, &rules, live)
}

// configOf is a configuration that is ready and answers from the pipeline.
func configOf(p *Pipeline) Config {
	return Config{Pipeline: p, Metrics: NewMetrics(Gauges{}), Log: quiet(), MaxRequestBytes: 1 << 20}
}

// inAMinute is a deadline that no test meets.
func inAMinute() time.Time { return time.Now().Add(time.Minute) }

// podReview is the review of a pod's CREATE, with one volume that names a PVC.
func podReview(uid, claimName string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{
		"uid":%q,"operation":"CREATE","namespace":"ml","resource":{"group":"","version":"v1","resource":"pods"},
		"object":{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"vllm-"},
		"spec":{"volumes":[{"name":"cache","persistentVolumeClaim":{"claimName":%q}}]}}}}`, uid, claimName)
}

// plainReview is the review of any other request, which is allowed as it is.
func plainReview(uid, group, resource, operation string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{
		"uid":%q,"operation":%q,"namespace":"ml","name":"thing","resource":{"group":%q,"version":"v1","resource":%q}}}`,
		uid, operation, group, resource)
}

// post sends a review to a handler.
func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// fetch gets a path of a handler.
func fetch(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	body, err := io.ReadAll(w.Result().Body)
	require.NoError(t, err)
	return w.Code, string(body)
}

// allowAll decides nothing, whatever is asked.
func allowAll(admission.Road, *admission.Request, *claim.Reads) admission.Decision {
	return admission.Decision{}
}

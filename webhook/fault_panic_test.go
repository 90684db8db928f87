package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// faulty is a pipeline that has a bug for every request of a namespace.
func faulty(namespace string) *Pipeline {
	p := pipelineOf(emptyView{}, nil)
	p.decide = func(road admission.Road, req *admission.Request, reads *claim.Reads) admission.Decision {
		if req.Namespace == namespace {
			var none *claim.PVC
			return admission.Decision{Node: none.Node} // a nil pointer, as bugs have them
		}
		return allowAll(road, req, reads)
	}
	return p
}

// TestABugIsAnsweredLoggedAndCountedAndHarmsNobodyElse meets one in every fifth
// of 400 reviews that come at once.
func TestABugIsAnsweredLoggedAndCountedAndHarmsNobodyElse(t *testing.T) {
	t.Parallel()
	const reviewers, each = 8, 50
	var log lockedBuffer
	c := configOf(faulty("bug"))
	c.Log = slog.New(slog.NewJSONHandler(&log, nil))
	r := start(t, c, nil)
	var answered, crashed atomic.Int64
	var all sync.WaitGroup
	for reviewer := range reviewers {
		client := r.client(t, false)
		all.Go(func() {
			for i := range each {
				uid, wantCode, review := fmt.Sprintf("u-%d-%d", reviewer, i), 0, plainReview("UID", "", "pods", "CREATE")
				if i%5 == 0 {
					wantCode, review = http.StatusInternalServerError, strings.Replace(review, `"ml"`, `"bug"`, 1)
				}
				response, err := client.Post(r.url+"/mutate", "application/json", strings.NewReader(strings.Replace(review, "UID", uid, 1)))
				if !assert.NoError(t, err) {
					return
				}
				body, err := io.ReadAll(response.Body)
				_ = response.Body.Close()
				assert.NoError(t, err)
				gotUID, allowed, code := answerOf(t, body)
				assert.Equal(t, uid, gotUID)
				assert.Equal(t, wantCode == 0, allowed)
				assert.Equal(t, wantCode, code)
				answered.Add(1)
				if wantCode != 0 {
					crashed.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, r.wait(t))
	stacks := log.panics(t)
	counted := seriesOf(t, c.Metrics)["berth_panics_total"]
	t.Logf("%d requests sent, %d answered with their uid, %d of them after a bug; %d stacks logged, %d bugs counted",
		reviewers*each, answered.Load(), crashed.Load(), len(stacks), counted)
	assert.EqualValues(t, reviewers*each, answered.Load())
	assert.Len(t, stacks, int(crashed.Load()))
	assert.EqualValues(t, crashed.Load(), counted)
	for uid, stack := range stacks {
		assert.Contains(t, stack, "faulty.func", uid)
	}
}

// lockedBuffer takes log records of many goroutines.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write is part of [io.Writer].
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// panics are the stacks that were logged, by uid.
func (b *lockedBuffer) panics(t *testing.T) map[string]string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	out := map[string]string{}
	for line := range strings.Lines(b.buf.String()) {
		var record struct{ Level, UID, Stack string }
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		if record.Stack != "" {
			assert.Equal(t, "ERROR", record.Level)
			out[record.UID] = record.Stack
		}
	}
	return out
}

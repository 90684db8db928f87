package webhook

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUsualReviewsPassWhileLargeBodiesHoldAllThatMayBeHeld: whoever keeps back
// the ends of a few large bodies must not have everybody else refused.
func TestUsualReviewsPassWhileLargeBodiesHoldAllThatMayBeHeld(t *testing.T) {
	t.Parallel()
	const size, usual, reviews = 8 << 20, 10 << 10, 100
	c := configOf(pipelineOf(emptyView{}, nil))
	c.MaxRequestBytes = size
	s := NewServer(c)
	blank, held := strings.Repeat(" ", size), make(chan struct{})
	large := func(size int64, end io.Reader) int {
		return postReader(s.AdmissionHandler(), io.MultiReader(strings.NewReader(blank[:size]), end), -1).Code
	}
	var arrived, gone sync.WaitGroup
	for range heldMax / size {
		arrived.Add(1)
		gone.Go(func() { large(size-1, &gate{arrived: arrived.Done, open: held}) })
	}
	// What every body may have uncounted, held by one more.
	arrived.Add(1)
	gone.Go(func() {
		large(heldMax/size*(reviewBuffer+1)+reviewBuffer, &gate{arrived: arrived.Done, open: held})
	})
	arrived.Wait()
	assert.Equal(t, http.StatusServiceUnavailable, large(1<<20, strings.NewReader("")), "another large one does not pass")
	failed := 0
	for range reviews {
		review := podReview("u", "x")
		if w := post(s.AdmissionHandler(), "/mutate", review+strings.Repeat(" ", usual-len(review))); w.Code != http.StatusOK {
			failed++
		}
	}
	close(held)
	gone.Wait()
	t.Logf("%d MiB held; %d usual reviews sent, %d failed", heldMax>>20, reviews, failed)
	assert.Zero(t, failed)
}

// TestNobodyFillsTheLogWithOneRequest: what a request says is cut where it is
// longer than any name, in the log and in what is sent back.
func TestNobodyFillsTheLogWithOneRequest(t *testing.T) {
	long := strings.Repeat("é", 1<<19)
	for what, body := range map[string]string{
		"a uid":       podReview(long, "model-cache"),
		"a claim":     podReview("u", long),
		"a name":      strings.Replace(podReview("u", "model-cache"), `"vllm-"`, `"`+long+`"`, 1),
		"a namespace": strings.Replace(podReview("u", "model-cache"), `"ml"`, `"`+long+`"`, 1),
		"a kind":      strings.Replace(podReview("u", "model-cache"), "AdmissionReview", long, 1),
		"a bug":       strings.Replace(podReview(long, "model-cache"), `"ml"`, `"bug"`, 1),
	} {
		records := logged(t, slog.LevelDebug, faulty("bug"), body)
		require.NotEmpty(t, records, what)
		for _, record := range records {
			delete(record, "stack") // which no request makes longer
			text, err := json.Marshal(record)
			require.NoError(t, err)
			assert.Less(t, len(text), 4<<10, what)
		}
	}
	w := post(NewServer(configOf(pipelineOf(emptyView{}, nil))).AdmissionHandler(), "/mutate", strings.Repeat("k", 1<<19))
	assert.Less(t, w.Body.Len(), 600)
}

package webhook

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// send posts a review and reads the answer to its end.
func send(client *http.Client, url, body string) (*http.Response, error) {
	response, err := client.Post(url+"/mutate", "application/json", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response, err
}

func TestShutdownUnderLoadLosesNothing(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time it waits for the delay
			c := configOf(pipelineOf(emptyView{}, nil))
			c.ShutdownDelay = 2 * time.Second
			if http2 {
				c.TLS = withHTTP2()
			}
			r := start(t, c, nil)
			const clients = 8
			var warm, gone sync.WaitGroup
			warm.Add(clients)
			for range clients {
				gone.Go(func() { ask(t, r, http2, &warm) })
			}
			warm.Wait()
			r.stop()
			require.Eventually(t, func() bool { return r.status("/readyz") == http.StatusServiceUnavailable }, waitFor, time.Millisecond, "it is not ready at once")
			assert.Equal(t, http.StatusOK, r.status("/livez"))
			response, err := send(r.client(t, http2), r.url, plainReview("late", "", "pods", "DELETE"))
			require.NoError(t, err, "new connections are answered during the delay")
			assert.Equal(t, http.StatusOK, response.StatusCode)
			gone.Wait()
			require.NoError(t, r.wait(t))
			_, err = send(r.client(t, http2), r.url, plainReview("too-late", "", "pods", "DELETE"))
			require.Error(t, err, "the listener is closed")
			assert.Zero(t, r.status("/livez"))
		})
	}
}

// ask asks over a keep-alive connection until an answer says that it is the
// last on it, and over HTTP/2, where the client dials again by itself, for
// three more answers after the shutdown began.
func ask(t *testing.T, r *running, http2 bool, warm *sync.WaitGroup) {
	client, until, late := r.client(t, http2), time.Now().Add(waitFor), 0
	for n := 1; time.Now().Before(until); n++ {
		if r.ready.draining.Load() {
			late++
		}
		response, err := send(client, r.url, plainReview("u", "", "pods", "DELETE"))
		if err != nil {
			t.Error(err)
			return
		}
		assert.Equal(t, http.StatusOK, response.StatusCode)
		if n == 5 {
			warm.Done()
		}
		if response.Close || http2 && late == 3 {
			assert.GreaterOrEqual(t, n, 5, "connections are kept until the shutdown")
			return
		}
	}
	t.Error("the server never asked the client to dial again")
}

func TestShutdownWaitsForWhatIsUnderWay(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	r := start(t, configOf(blocking(entered, release)), nil)
	answered := make(chan error, 1)
	go func() {
		response, err := send(r.client(t, false), r.url, podReview("u", "x"))
		if err == nil && !response.Close {
			t.Error("the last answer says that it is the last")
		}
		answered <- err
	}()
	<-entered
	r.stop()
	require.Eventually(t, func() bool {
		_, err := send(r.client(t, false), r.url, plainReview("late", "", "pods", "DELETE"))
		return err != nil
	}, waitFor, time.Millisecond, "without a delay, the listener is closed at once")
	assert.Equal(t, http.StatusServiceUnavailable, r.status("/readyz"), "the metrics server stays until the end")
	select {
	case err := <-r.done:
		t.Fatalf("Run ended (%v) before the answer", err)
	default:
	}
	close(release)
	require.NoError(t, <-answered)
	require.NoError(t, r.wait(t))
}

func TestShutdownIsBounded(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	r := start(t, configOf(blocking(entered, release)), func(s *Server) { s.drain = 50 * time.Millisecond })
	answered := make(chan error, 1)
	go func() {
		_, err := send(r.client(t, false), r.url, podReview("u", "x"))
		answered <- err
	}()
	<-entered
	require.NoError(t, r.wait(t))
	assert.Error(t, <-answered, "the request that hung was cut off")
}

// blocking is a pipeline whose decisions on pods wait to be released.
func blocking(entered, release chan struct{}) *Pipeline {
	p := pipelineOf(emptyView{}, nil)
	p.decide = func(road admission.Road, req *admission.Request, reads *claim.Reads) admission.Decision {
		if req.Operation == "CREATE" {
			close(entered)
			<-release
		}
		return allowAll(road, req, reads)
	}
	return p
}

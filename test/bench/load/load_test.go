package load

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// echo is a server that answers with the request's body, and counts.
func echo(t *testing.T, handler http.HandlerFunc) (Target, *atomic.Int64) {
	t.Helper()
	var count atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		handler(w, r)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return Target{Address: server.Listener.Addr().String(), Path: "/mutate", CAs: roots}, &count
}

func repeatBody(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/mutate" || r.Header.Get("Content-Type") != "application/json" {
		http.Error(w, "not what was asked for", http.StatusTeapot)
		return
	}
	_, _ = w.Write(body)
}

type loop func(ctx context.Context, target Target, body []byte, together int, round time.Duration, check Check) (Result, error)

func loops() map[string]loop { return map[string]loop{"HTTP/1.1": ClosedHTTP1, "HTTP/2": ClosedHTTP2} }

func TestClosedLoopsCountEveryAnswer(t *testing.T) {
	for protocol, run := range loops() {
		for name, size := range map[string]int{"small": 3, "larger than a window and a frame": 300_000} {
			t.Run(protocol+", a body that is "+name, func(t *testing.T) {
				target, count := echo(t, repeatBody)
				body := bytes.Repeat([]byte("x"), size)
				got, err := run(t.Context(), target, body, 3, 100*time.Millisecond, func(answer []byte) error {
					if !bytes.Equal(body, answer) {
						return errors.New("another answer")
					}
					return nil
				})
				require.NoError(t, err)
				assert.Len(t, got.Times, int(count.Load()))
				assert.NotEmpty(t, got.Times)
				assert.GreaterOrEqual(t, got.Took, 100*time.Millisecond)
			})
		}
	}
}

func TestAWrongAnswerEndsTheLoad(t *testing.T) {
	wrong := errors.New("wrong")
	for protocol, run := range loops() {
		t.Run(protocol, func(t *testing.T) {
			target, _ := echo(t, repeatBody)
			_, err := run(t.Context(), target, []byte("x"), 2, time.Minute, func([]byte) error { return wrong })
			assert.ErrorIs(t, err, wrong)
		})
	}
}

func TestACodeOtherThan200EndsTheLoad(t *testing.T) {
	for protocol, run := range loops() {
		t.Run(protocol, func(t *testing.T) {
			target, _ := echo(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
			_, err := run(t.Context(), target, []byte("x"), 2, time.Minute, func([]byte) error { return nil })
			assert.ErrorContains(t, err, "503")
		})
	}
}

func TestAnOpenLoopSendsWhatIsDue(t *testing.T) {
	target, count := echo(t, repeatBody)
	got, err := Open(t.Context(), target, 200, 4, 250*time.Millisecond, func(n int) ([]byte, Check) {
		body := bytes.Repeat([]byte("x"), n+1)
		return body, func(answer []byte) error {
			if !bytes.Equal(body, answer) {
				return errors.New("another answer")
			}
			return nil
		}
	})
	require.NoError(t, err)
	assert.EqualValues(t, 50, count.Load())
	assert.Len(t, got.Times, 50)
}

func TestAnOpenLoopSeesAStall(t *testing.T) {
	var first atomic.Bool
	target, _ := echo(t, func(w http.ResponseWriter, r *http.Request) {
		if first.CompareAndSwap(false, true) {
			<-time.After(200 * time.Millisecond)
		}
		repeatBody(w, r)
	})
	got, err := Open(t.Context(), target, 100, 1, 200*time.Millisecond, func(int) ([]byte, Check) {
		return []byte("x"), func([]byte) error { return nil }
	})
	require.NoError(t, err)
	assert.Greater(t, got.Times.Quantile(0.5), 50*time.Millisecond, "requests that waited behind the first one count their wait")
}

func TestQuantiles(t *testing.T) {
	times := Times{4, 1, 3, 2}
	assert.EqualValues(t, 1, times.Quantile(0))
	assert.EqualValues(t, 3, times.Quantile(0.5))
	assert.EqualValues(t, 4, times.Quantile(1))
	assert.Zero(t, Times(nil).Quantile(0.5))
}

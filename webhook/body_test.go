package webhook

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withHTTP2 is a configuration that speaks both.
func withHTTP2() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}

// endless is a body without end that counts what was taken of it.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.read.Add(int64(len(p)))
	return len(p), nil
}

func postReader(h http.Handler, body io.Reader, length int64) *httptest.ResponseRecorder {
	return postTyped(h, "application/json", body, length)
}

func postTyped(h http.Handler, contentType string, body io.Reader, length int64) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/mutate", body)
	r.ContentLength = length
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestOnlySoManyBytesAreHeld: slow clients with large bodies can't fill the
// memory, usual reviews go on meanwhile, and all is well when they have gone.
func TestOnlySoManyBytesAreHeld(t *testing.T) {
	c := configOf(pipelineOf(emptyView{}, nil))
	c.MaxRequestBytes = 8 << 20
	handler := NewServer(c).AdmissionHandler()
	const most = heldMax / (8 << 20)
	held, done := make(chan struct{}), make(chan int, 2*most)
	var arrived sync.WaitGroup
	for range most {
		arrived.Add(1)
		go func() {
			body := io.MultiReader(io.LimitReader(&endless{}, 7<<20), &gate{arrived: arrived.Done, open: held})
			done <- postReader(handler, body, -1).Code
		}()
	}
	arrived.Wait()
	busy := postReader(handler, io.LimitReader(&endless{}, 8<<20), -1)
	assert.Equal(t, http.StatusServiceUnavailable, busy.Code)
	assert.Contains(t, busy.Body.String(), "berth is busy")
	assert.Equal(t, http.StatusOK, post(handler, "/mutate", podReview("u", "x")).Code, "a usual review goes on")
	close(held)
	for range most {
		assert.Equal(t, http.StatusBadRequest, <-done, "blanks are no review")
	}
	assert.Equal(t, http.StatusBadRequest, postReader(handler, io.LimitReader(&endless{}, 8<<20), -1).Code)
}

// gate is the end of a body that comes late.
type gate struct {
	arrived func()
	open    chan struct{}
}

func (g *gate) Read([]byte) (int, error) {
	g.arrived()
	<-g.open
	return 0, io.EOF
}

func TestBodies(t *testing.T) {
	handler := NewServer(configOf(pipelineOf(emptyView{}, nil))).AdmissionHandler()
	t.Run("a body announced too large is not read at all", func(t *testing.T) {
		body := &endless{}
		w := postReader(handler, body, 1<<20+1)
		assert.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
		assert.Equal(t, "close", w.Header().Get("Connection"))
		assert.Zero(t, body.read.Load())
	})
	t.Run("an endless body is read to the limit and no further", func(t *testing.T) {
		body := &endless{}
		w := postReader(handler, body, -1)
		assert.Equal(t, http.StatusRequestEntityTooLarge, w.Code)
		assertOneLine(t, w)
		assert.LessOrEqual(t, body.read.Load(), int64(4<<20))
	})
	t.Run("a body that breaks off is 400", func(t *testing.T) {
		w := postReader(handler, io.MultiReader(strings.NewReader(`{"kind":`), iotest.ErrReader(io.ErrUnexpectedEOF)), 100)
		assert.Equal(t, http.StatusBadRequest, w.Code)
		assertOneLine(t, w)
	})
	t.Run("a connection that breaks is 400", func(t *testing.T) {
		w := postReader(handler, iotest.ErrReader(errors.New("reset\nby peer")), 100)
		assert.Equal(t, http.StatusBadRequest, w.Code)
		assertOneLine(t, w)
	})
	t.Run("a promise of a body costs no memory", func(t *testing.T) {
		var buffer bytes.Buffer
		_, problem := new(bodies).read(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(io.ErrUnexpectedEOF)), 1<<40, &buffer)
		require.NotNil(t, problem)
		assert.LessOrEqual(t, buffer.Cap(), 2*reviewBuffer)
	})
	t.Run("the next review is answered all the same", func(t *testing.T) {
		assert.Equal(t, http.StatusOK, post(handler, "/mutate", plainReview("u", "", "pods", "DELETE")).Code)
	})
}

func TestGiantBuffersAreNotKept(t *testing.T) {
	b := &bodies{}
	giant := bytes.NewBuffer(make([]byte, 0, maxPooledBuffer+1))
	b.put(giant)
	assert.NotSame(t, giant, b.get())
}

func TestAnswersDoNotMixInTheBuffers(t *testing.T) {
	handler := NewServer(configOf(pipelineOf(emptyView{claim: "model-cache"}, nil))).AdmissionHandler()
	done := make(chan struct{})
	for worker := range 8 {
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range 100 {
				want := fmt.Sprintf("uid-%d-%d", worker, i)
				w := post(handler, "/mutate", podReview(want, "model-cache")+strings.Repeat(" ", i*worker))
				if !strings.Contains(w.Body.String(), `"uid":"`+want+`"`) {
					t.Errorf("want uid %s: %s", want, w.Body)
				}
			}
		}()
	}
	for range 8 {
		<-done
	}
}

// dial opens a TLS connection and sends the head of a request.
func dial(t *testing.T, r *running, length int) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", r.addr, &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(waitFor)))
	_, err = fmt.Fprintf(conn, "POST /mutate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", length)
	require.NoError(t, err)
	return conn
}

func TestSlowBodyIs408(t *testing.T) {
	r := start(t, configOf(pipelineOf(emptyView{}, nil)), func(s *Server) { s.admission.ReadTimeout = 200 * time.Millisecond })
	conn := dial(t, r, 100)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	assert.Equal(t, http.StatusRequestTimeout, response.StatusCode)
	assert.True(t, response.Close)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "the body did not arrive in time\n", string(text))
	require.NoError(t, r.wait(t))
}

func TestClientThatGoesHarmsNothing(t *testing.T) {
	c := configOf(pipelineOf(emptyView{}, nil))
	r := start(t, c, nil)
	require.NoError(t, dial(t, r, 100).Close())
	failed := `berth_admission_requests_total{operation="other",resource="other",result="error"}`
	require.Eventually(t, func() bool { return seriesOf(t, c.Metrics)[failed] == 1 }, waitFor, 5*time.Millisecond)
	response, err := send(r.client(t, false), r.url, plainReview("u", "", "pods", "DELETE"))
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, r.wait(t))
	assert.Zero(t, seriesOf(t, c.Metrics)["berth_panics_total"])
}

func TestHugeUploadGetsItsAnswer(t *testing.T) {
	r := start(t, configOf(pipelineOf(emptyView{}, nil)), nil)
	client := r.client(t, false)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/mutate", io.LimitReader(&endless{}, 64<<20))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err == nil { // the answer may be overtaken by the broken upload
		assert.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
		_ = response.Body.Close()
	}
	response, err = send(client, r.url, plainReview("u", "", "pods", "DELETE"))
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, r.wait(t))
}

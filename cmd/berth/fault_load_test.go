package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// inTime is how long an answer may take: the time-out that deploy/berth.yaml
// gives the API server.
const inTime = 5 * time.Second

// figures are what became of a load.
type figures struct {
	took     []time.Duration // of each request that was answered rightly, sorted
	failures []string
	lasted   time.Duration
}

// String tells them in one line.
func (f *figures) String() string {
	of := func(share float64) time.Duration {
		if len(f.took) == 0 {
			return 0
		}
		return f.took[int(share*float64(len(f.took)-1))].Round(100 * time.Microsecond)
	}
	sent := len(f.took) + len(f.failures)
	return fmt.Sprintf("%d requests sent (%.0f a second), %d failed; answered in %s (median), %s (99 %%), %s (slowest)",
		sent, float64(sent)/f.lasted.Seconds(), len(f.failures), of(0.5), of(0.99), of(1))
}

// load asks again and again, by several clients, until it is stopped.
type load struct {
	sent    atomic.Int64
	cancel  context.CancelFunc
	begun   time.Time
	clients sync.WaitGroup
	mu      sync.Mutex
	figures figures
}

// startLoad starts clients that ask so many times a second in all, or with 0
// as often as they can. What was late is made up for.
func startLoad(t *testing.T, rate, clients int, ask func(client, n int) error) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel, begun: time.Now()}
	turns := make(chan int)
	go pace(ctx, rate, turns)
	for client := range clients {
		l.clients.Go(func() {
			for n := range turns {
				begun := time.Now()
				err := ask(client, n)
				l.note(time.Since(begun), err)
			}
		})
	}
	t.Cleanup(func() { cancel(); l.clients.Wait() })
	return l
}

// pace hands out turns until the context is done.
func pace(ctx context.Context, rate int, turns chan<- int) {
	defer close(turns)
	begun := time.Now()
	for n := 0; ; n++ {
		if rate > 0 {
			select {
			case <-time.After(time.Until(begun.Add(time.Duration(n) * time.Second / time.Duration(rate)))):
			case <-ctx.Done():
				return
			}
		}
		select {
		case turns <- n:
		case <-ctx.Done():
			return
		}
	}
}

func (l *load) note(took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent.Add(1)
	if err != nil {
		l.figures.failures = append(l.figures.failures, err.Error())
		return
	}
	l.figures.took = append(l.figures.took, took)
}

// awaitMore waits until so many more requests have been answered.
func (l *load) awaitMore(t *testing.T, more int64) {
	t.Helper()
	until := l.sent.Load() + more
	require.Eventually(t, func() bool { return l.sent.Load() >= until }, waitFor, tick, "the load stands still")
}

// stop ends the load when what was asked is answered.
func (l *load) stop() *figures {
	l.cancel()
	l.clients.Wait()
	l.figures.lasted = time.Since(l.begun)
	slices.Sort(l.figures.took)
	return &l.figures
}

// assertAllInTime holds that every request was answered, and soon enough.
func (f *figures) assertAllInTime(t *testing.T) {
	t.Helper()
	require.Empty(t, f.failures[:min(3, len(f.failures))])
	require.NotEmpty(t, f.took)
	require.Less(t, f.took[len(f.took)-1], inTime)
}

// dialing is a client that trusts the CAs and dials an address, whatever the
// URL says.
type dialing struct {
	roots   *x509.CertPool
	address func() string
	http2   bool
	once    bool // a connection for each request
}

func (d dialing) client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: d.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: d.http2, DisableKeepAlives: d.once,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, d.address())
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: waitFor}
}

// clients are so many of them, each with connections of its own.
func (d dialing) clients(t *testing.T, n int) []*http.Client {
	t.Helper()
	var out []*http.Client
	for range n {
		out = append(out, d.client(t))
	}
	return out
}

// poolOf trusts the CAs in files.
func poolOf(t *testing.T, files ...string) *x509.CertPool {
	t.Helper()
	roots := x509.NewCertPool()
	for _, file := range files {
		pem, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, roots.AppendCertsFromPEM(pem))
	}
	return roots
}

// usualSize is about the size of a pod's review.
const usualSize = 10 << 10

// rewritten asks for a pod of the cluster file's DaemonSet, and is an error
// unless the answer is to this request, and rewrites it to its node's PVC.
func rewritten(client *http.Client, uid string) error {
	review := daemonPod(uid, "model-cache")
	answer, err := askedFor(client, review+strings.Repeat(" ", usualSize-len(review)))
	switch {
	case err != nil:
		return err
	case answer.UID != uid:
		return fmt.Errorf("the answer to %s is %s's", uid, answer.UID)
	case !answer.Allowed || answer.Patch == "":
		return fmt.Errorf("not rewritten: %d %s", answer.Status.Code, answer.Status.Message)
	}
	return nil
}

// askedFor sends a review and reads the answer.
func askedFor(client *http.Client, review string) (response, error) {
	code, body, err := exchange(client, strings.NewReader(review))
	if err != nil {
		return response{}, err
	}
	if code != http.StatusOK {
		return response{}, fmt.Errorf("%d %s", code, body)
	}
	var answer struct{ Response response }
	err = json.Unmarshal(body, &answer)
	return answer.Response, err
}

// exchange sends a body and reads what comes back to its end.
func exchange(client *http.Client, body io.Reader) (int, []byte, error) {
	response, err := client.Post("https://127.0.0.1:9443/mutate?timeout=5s", "application/json", body)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

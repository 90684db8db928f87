//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
)

// inTime is how long an answer may take: the time-out that deploy/berth.yaml gives
// the API server.
const inTime = 5 * time.Second

// soakLoad asks a Berth over several connections, and remembers what it was told.
type soakLoad struct {
	b        *soakBerth
	asks     []*soakAsk
	cancel   context.CancelFunc
	stopped  sync.WaitGroup
	sent     atomic.Int64
	unasked  atomic.Int64 // answered that the API server could not be read
	aborted  atomic.Int64 // connections broken off on purpose
	mu       sync.Mutex
	failures []string // of the connection, or late
	wrong    []string // other answers than the first
	slowest  time.Duration
}

// newSoakLoad reads what to ask. Fixtures are about namespace ml; here they are
// about a namespace that exists.
func newSoakLoad(t *testing.T, b *soakBerth, namespace string) *soakLoad {
	t.Helper()
	l := &soakLoad{b: b, asks: append(fixtureAsks(t, namespace), hostileAsks(namespace)...)}
	t.Logf("%d different requests", len(l.asks))
	return l
}

// learn asks everything once, so that later answers have something to differ from,
// and starts the clients.
func (l *soakLoad) learn(t *testing.T) {
	t.Helper()
	client := l.client(false, true)
	allowed, rewritten, refused, errors := 0, 0, 0, 0
	for _, ask := range l.asks {
		code, body := l.learned(t, client, ask)
		ask.first = verdict(code, body)
		switch {
		case code != http.StatusOK:
			errors++
		case strings.Contains(body, `"patch":`):
			rewritten++
		case strings.Contains(body, `"allowed":true`):
			allowed++
		default:
			refused++
		}
		if ask.code != 0 {
			assert.Equal(t, ask.code, code, "%s: %s", ask.name, body)
		}
	}
	client.CloseIdleConnections()
	t.Logf("first answers: %d rewritten, %d allowed as they are, %d refused, %d no reviews", rewritten, allowed, refused, errors)
	l.start()
}

// learned is the first answer that is a decision: a busy API server may not be
// readable in time, and Berth says so.
func (l *soakLoad) learned(t *testing.T, client *http.Client, ask *soakAsk) (code int, body string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		code, body, err = send(t.Context(), client, http.MethodPost, "https://"+l.b.address+ask.path, ask.reader())
		return err == nil && !unreadable(body)
	}, patience, interval, "no decision on %s", ask.name)
	return code, body
}

// verdict is an answer without its texts, which count and name the nodes that there
// are: other tests make a thousand of them, and take them away.
func verdict(code int, body string) string {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal([]byte(body), &review); err != nil || review.Response == nil {
		return fmt.Sprintf("%d %s", code, body)
	}
	r := review.Response
	text := fmt.Sprintf("%d %s %t %s", code, r.UID, r.Allowed, r.Patch)
	if r.Result != nil {
		text += fmt.Sprintf(" %d", r.Result.Code)
		for _, cause := range r.Result.Details.Causes {
			text += fmt.Sprintf(" %s %s", cause.Type, cause.Field)
		}
	}
	return text
}

// unreadable tells whether an answer says that the API server could not be read.
func unreadable(body string) bool { return strings.Contains(body, `"ClusterUnreadable"`) }

// start starts the clients: four keep a connection of HTTP/1.1, two one of HTTP/2,
// one dials for every request, and one breaks connections off.
func (l *soakLoad) start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	turns := make(chan *soakAsk)
	l.stopped.Go(func() { l.pace(ctx, turns) })
	for i := range 7 {
		client := l.client(i >= 4, i < 6)
		l.stopped.Go(func() {
			for ask := range turns {
				l.ask(client, ask)
			}
			client.CloseIdleConnections()
		})
	}
	l.stopped.Go(func() { l.breakOff(ctx) })
}

func (l *soakLoad) stop() {
	l.cancel()
	l.stopped.Wait()
}

// pace hands out the requests in turn, so many a second.
func (l *soakLoad) pace(ctx context.Context, turns chan<- *soakAsk) {
	defer close(turns)
	every := time.NewTicker(time.Second / soakRate)
	defer every.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		select {
		case <-ctx.Done():
			return
		case turns <- l.asks[i%len(l.asks)]:
		}
	}
}

func (l *soakLoad) client(http2, keepAlive bool) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: l.b.roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: http2, DisableKeepAlives: !keepAlive}
	return &http.Client{Transport: transport, Timeout: patience}
}

// ask asks once and compares the answer.
func (l *soakLoad) ask(client *http.Client, ask *soakAsk) {
	begun := time.Now()
	code, body, err := send(context.Background(), client, http.MethodPost, "https://"+l.b.address+ask.path, ask.reader())
	took := time.Since(begun)
	l.sent.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slowest = max(l.slowest, took)
	got := verdict(code, body)
	switch {
	case err != nil:
		l.failures = append(l.failures, ask.name+": "+err.Error())
	case took > inTime:
		l.failures = append(l.failures, fmt.Sprintf("%s: answered after %s", ask.name, took))
	case unreadable(body):
		l.unasked.Add(1)
	case ask.changes && code != http.StatusOK || !ask.changes && got != ask.first:
		l.wrong = append(l.wrong, fmt.Sprintf("%s:\nfirst %.600s\nnow   %.600s", ask.name, ask.first, got))
	}
}

// breakOff begins requests and goes, in the middle of the head and of the body.
func (l *soakLoad) breakOff(ctx context.Context) {
	every := time.NewTicker(500 * time.Millisecond)
	defer every.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: patience}, Config: &tls.Config{RootCAs: l.b.roots, MinVersion: tls.VersionTLS12}}
		conn, err := dialer.DialContext(ctx, "tcp", l.b.address)
		if err != nil {
			continue
		}
		begun := "POST /mutate HTTP/1.1\r\nHost: berth\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{\"kind\""
		_, _ = io.WriteString(conn, begun[:len(begun)/(1+i%2)])
		_ = conn.Close()
		l.aborted.Add(1)
	}
}

func (l *soakLoad) report(t *testing.T) {
	t.Helper()
	t.Logf("requests: %d sent, %d failed, %d wrong, %d told that the API server could not be read; %d connections broken off; slowest answer %s",
		l.sent.Load(), len(l.failures), len(l.wrong), l.unasked.Load(), l.aborted.Load(), l.slowest.Round(time.Millisecond))
	metrics := l.b.scrape(t)
	for _, result := range []string{"ok", "notfound", "error"} {
		t.Logf("live reads of PVCs, %s: %.0f", result, valueOf(t, metrics, `berth_live_reads_total\{resource="persistentvolumeclaims",result="`+result+`"\}`))
	}
}

// assertAnswers holds that no request failed and no answer was wrong. That the
// API server could not be read is a right answer, but must be rare.
func (l *soakLoad) assertAnswers(t *testing.T) {
	t.Helper()
	assert.Empty(t, l.failures[:min(5, len(l.failures))])
	assert.Empty(t, l.wrong[:min(5, len(l.wrong))])
	assert.LessOrEqual(t, l.unasked.Load(), l.sent.Load()/100)
}

// send asks and reads the answer to its end.
func send(ctx context.Context, client *http.Client, method, url string, body io.Reader) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

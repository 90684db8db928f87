package main

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSIGTERMUnderLoadLosesNoRequest rolls from one process to another under
// 200 requests a second over kept-alive connections, as a Deployment does:
// new connections go to the old process until the endpoints have changed,
// which is while it still answers.
func TestSIGTERMUnderLoadLosesNoRequest(t *testing.T) {
	t.Parallel()
	const delay = 3 * time.Second
	for name, http2 := range map[string]bool{"over HTTP/1.1": false, "over HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, file := t.TempDir(), clusterFile(t)
			start := func(ca string) *process {
				return spawn(t, "--cluster-file="+file, "--shutdown-delay-duration="+delay.String(), "--tls-self-signed",
					"--tls-self-signed-ca-out="+ca, fmt.Sprintf("--http2=%t", http2))
			}
			cas := []string{filepath.Join(dir, "old.crt"), filepath.Join(dir, "new.crt")}
			old, next := start(cas[0]), start(cas[1])
			var address atomic.Value
			address.Store(old.serving.text("address"))
			const connections = 8
			clients := dialing{roots: poolOf(t, cas...), http2: http2, address: func() string { return address.Load().(string) }}.clients(t, connections)
			l := startLoad(t, 200, connections, func(client, n int) error { return rewritten(clients[client], fmt.Sprint("u-", n)) })

			l.awaitMore(t, 300)
			begun := time.Now()
			require.NoError(t, old.cmd.Process.Signal(syscall.SIGTERM))
			l.awaitMore(t, 40)
			address.Store(next.serving.text("address"))
			require.Less(t, time.Since(begun), delay, "the endpoints changed too late: the machine is too slow for this test")
			assert.Zero(t, old.exitCode(t))
			l.awaitMore(t, 200)
			f := l.stop()

			var before, late, ofNext int
			once := func() bool { // a decision is logged after its answer is written
				before, late = old.answered()
				ofNext, _ = next.answered()
				return len(f.took) == before+late+ofNext
			}
			assert.Eventually(t, once, 10*time.Second, 10*time.Millisecond, "each request was decided once")
			t.Logf("%s; %d answered by the old process, %d of them after SIGTERM, and %d by the new one", f, before+late, late, ofNext)
			assert.Empty(t, f.failures[:min(3, len(f.failures))])
			assert.Positive(t, late)
			assert.Positive(t, ofNext)
		})
	}
}

// answered counts the decisions in the log, until SIGTERM and after it.
func (p *process) answered() (before, late int) {
	drains := false
	for _, r := range p.log() {
		switch {
		case r.text("result") != "" && drains:
			late++
		case r.text("result") != "":
			before++
		}
		drains = drains || r.text("msg") == "shutting down: still answering, no longer ready"
	}
	return before, late
}

package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// memoryGrowth is how much larger a process may be after an attack than it
	// was at work before it.
	memoryGrowth = 1.2
	// workingClients ask so often to put the process to work, and after so many
	// answers it has the size of a process at work.
	workingClients = 8
	workingRate    = 400
	atWorkAfter    = 800
)

// TestHostileClientsLeaveMemoryAsItWasAndOthersServed attacks a Berth as it is
// shipped, without the race detector, which keeps memory of its own, in a
// cluster of 200 nodes and 10,000 node PVCs. Before and after, the process is at
// work: so its garbage is collected, and goes back to the system at the
// runtime's own pace. Its size is its metric process_resident_memory_bytes,
// which is VmRSS in /proc/PID/status.
func TestHostileClientsLeaveMemoryAsItWasAndOthersServed(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "berth")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	file := largeClusterFile(t, 200, 50)
	for name, attack := range map[string]func(*attacked){
		"slow clients, stalled ones and 2,000 idle ones": (*attacked).slowly,
		"bodies of 20 MiB, and bodies without end":       (*attacked).withBodies,
		"HTTP/2 streams that are reset at once":          (*attacked).withResets,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &attacked{t: t, sessions: tls.NewLRUClientSessionCache(0), process: serveProgram(t, program, "--cluster-file="+file, "--http2", "--log-level=info", "--shutdown-delay-duration=0s")}
			a.run(attack)
			assert.NotContains(t, a.metricsText(), "berth_panics_total 1")
		})
	}
}

// largeClusterFile is the usual cluster file with many nodes more, each with a
// node PVC of every claim.
func largeClusterFile(t *testing.T, nodes, claims int) string {
	t.Helper()
	text := strings.Builder{}
	text.WriteString(clusterYAML)
	for n := range nodes {
		node := fmt.Sprintf("other-%d", n)
		fmt.Fprintf(&text, "\n---\n{apiVersion: v1, kind: Node, metadata: {name: %[1]s, labels: {kubernetes.io/hostname: %[1]s}}}\n", node)
		for c := range claims {
			claim := fmt.Sprintf("claim-%d", c)
			text.WriteString("---" + boundFor(claim, claim+"-"+node, node, ""))
		}
	}
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	return file
}

// attacked is a Berth under attack.
type attacked struct {
	*process
	t        *testing.T
	sessions tls.ClientSessionCache // spares most handshakes their signatures
}

// run attacks, and measures.
func (a *attacked) run(attack func(*attacked)) {
	before := a.atWork(func(float64) bool { return true })
	most := a.watchMemory()
	clients := a.dialing(a.t).clients(a.t, 4)
	others := startLoad(a.t, 40, len(clients), func(client, n int) error { return rewritten(clients[client], fmt.Sprint("u-", n)) })
	attack(a)
	f := others.stop()
	peak, begun := most(), time.Now()
	after := a.atWork(func(now float64) bool { return now <= memoryGrowth*before })
	a.t.Logf("resident memory: %.1f MiB before, %.1f at most, %.1f after (%.2f times) %s later",
		before, peak, after, after/before, time.Since(begun).Round(100*time.Millisecond))
	a.t.Logf("others meanwhile: %s", f)
	f.assertAllInTime(a.t)
	assert.LessOrEqual(a.t, after, memoryGrowth*before)
}

// atWork puts the process to work until its resident memory, in MiB, is right,
// or no longer will be.
func (a *attacked) atWork(right func(mib float64) bool) float64 {
	a.t.Helper()
	clients := a.dialing(a.t).clients(a.t, workingClients)
	l := startLoad(a.t, workingRate, workingClients, func(client, n int) error { return rewritten(clients[client], fmt.Sprint("u-", n)) })
	l.awaitMore(a.t, atWorkAfter)
	size := a.resident()
	for until := time.Now().Add(2 * waitFor); !right(size) && time.Now().Before(until); size = a.resident() {
		l.awaitMore(a.t, 100)
	}
	f := l.stop()
	require.Empty(a.t, f.failures)
	return size
}

// metricsText scrapes; it may be called by other goroutines than the test's.
func (a *attacked) metricsText() string {
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, "http://"+a.serving.text("metricsAddress")+"/metrics", nil)
	if err != nil {
		return ""
	}
	_, text := do(a.t, http.DefaultClient, request)
	return text
}

// resident is the process's resident memory in MiB.
func (a *attacked) resident() float64 {
	found := regexp.MustCompile(`(?m)^process_resident_memory_bytes (\S+)$`).FindStringSubmatch(a.metricsText())
	if found == nil {
		a.t.Error("the process does not tell its resident memory")
		return 0
	}
	bytes, _ := strconv.ParseFloat(found[1], 64)
	return bytes / (1 << 20)
}

// watchMemory looks at it until most is called, which gives the most it saw.
func (a *attacked) watchMemory() (most func() float64) {
	peak, stop, ended := 0.0, make(chan struct{}), sync.WaitGroup{}
	ended.Go(func() {
		every := time.NewTicker(5 * tick)
		defer every.Stop()
		for {
			peak = max(peak, a.resident())
			select {
			case <-every.C:
			case <-stop:
				return
			}
		}
	})
	return func() float64 {
		close(stop)
		ended.Wait()
		return peak
	}
}

// dial opens a TLS connection that speaks a protocol.
func (a *attacked) dial(protocol string) (*tls.Conn, error) {
	config := a.client.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos, config.ClientSessionCache = []string{protocol}, a.sessions
	return tls.Dial("tcp", a.serving.text("address"), config)
}

//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// A replica that hangs keeps its connections: nothing is closed, and nothing answers.
// Its readiness probe must take it out, and the API server must leave its connections.
func TestAReplicaThatHangsHoldsPodsOnlyUntilItsProbeHasFailed(t *testing.T) {
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	victim := n.berthPods()[0]
	calls := n.askSteadily()
	require.Eventually(t, func() bool { _, last := calls.since(time.Time{}); return last >= 40 }, patience, interval, "nothing is answered")
	failed, _ := calls.since(time.Time{})
	require.Zero(t, failed)

	pid := processOf(t, &victim)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	began := time.Now()
	require.Eventually(t, func() bool { _, last := calls.since(began); return last >= 100 }, patience, interval, "calls go on failing")
	failed, _ = calls.since(began)
	t.Logf("%d calls of 20 a second failed; %.0f s after it hung, 100 in a row had been answered", failed, time.Since(began).Seconds())
	assert.Less(t, time.Since(began), 45*time.Second)

	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	n.must("-n", "berth-system", "wait", "--for=condition=Ready", "pod/"+victim.Name, "--timeout=2m")
}

// asked are dry runs of a pod, by when they began.
type asked struct {
	mu    sync.Mutex
	calls []call
}

type call struct {
	began time.Time
	err   error
}

// askSteadily asks for a pod twenty times a second until the test ends, whether or not
// earlier calls have been answered.
func (n *namespace) askSteadily() *asked {
	a := &asked{}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	n.t.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() {
		for ticker := time.NewTicker(50 * time.Millisecond); ctx.Err() == nil; <-ticker.C {
			running.Go(func() {
				began := time.Now()
				err := n.askForPod()
				a.mu.Lock()
				defer a.mu.Unlock()
				a.calls = append(a.calls, call{began, err})
			})
		}
	})
	return a
}

// since tells of the calls that began after a time how many failed, and how many in
// a row succeeded last.
func (a *asked) since(began time.Time) (failed, last int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.calls {
		switch {
		case c.began.Before(began):
		case c.err != nil:
			failed, last = failed+1, 0
		default:
			last++
		}
	}
	return failed, last
}

// processOf is the process of a pod of Berth: its host name is the pod's name.
func processOf(t *testing.T, pod *corev1.Pod) int {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, file := range commands {
		environ, err := os.ReadFile(file)
		if err == nil && strings.Contains("\x00"+string(environ), "\x00HOSTNAME="+pod.Name+"\x00") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			return pid
		}
	}
	t.Fatalf("no process has the host name %s", pod.Name)
	return 0
}

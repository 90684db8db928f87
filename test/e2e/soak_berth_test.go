//go:build e2e

package e2e

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// soakBerth is a berth serve of the test's own, which reads the cluster.
type soakBerth struct {
	cmd     *exec.Cmd
	exited  chan error
	log     string // file
	address string
	metrics string
	roots   *x509.CertPool
}

// soakSample is what the process says of itself, and when.
type soakSample struct {
	at                                time.Duration // since the load began
	reviews                           int64         // sent until then
	resident, goroutines, heap, files float64
}

// startSoakBerth builds Berth as it is shipped, without the race detector, and
// starts it outside of the cluster. It returns once Berth is ready.
func (n *namespace) startSoakBerth() *soakBerth {
	n.t.Helper()
	dir := n.t.TempDir()
	program, ca := filepath.Join(dir, "berth"), filepath.Join(dir, "ca.crt")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/berth")
	build.Dir, build.Env = n.cluster.Root, append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(n.t, err, "build berth: %s", out)

	b := &soakBerth{exited: make(chan error, 1), log: filepath.Join(dir, "log")}
	log, err := os.Create(b.log)
	require.NoError(n.t, err)
	defer func() { _ = log.Close() }()
	b.cmd = exec.Command(program, "serve", "--kubeconfig="+n.cluster.Kubeconfig(), "--tls-self-signed", "--tls-self-signed-ca-out="+ca, "--http2",
		"--bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--log-format=json", "--shutdown-delay-duration=1s")
	b.cmd.Stderr = log
	require.NoError(n.t, b.cmd.Start())
	go func() { b.exited <- b.cmd.Wait() }()
	n.t.Cleanup(func() { _ = b.cmd.Process.Kill() })
	require.Eventually(n.t, func() bool { return b.findAddresses() && b.ready() }, patience, interval, "berth is not ready")

	pem, err := os.ReadFile(ca)
	require.NoError(n.t, err)
	b.roots = x509.NewCertPool()
	require.True(n.t, b.roots.AppendCertsFromPEM(pem))
	return b
}

// findAddresses takes them from the log, once they are there.
func (b *soakBerth) findAddresses() bool {
	text, err := os.ReadFile(b.log)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		var record struct{ Msg, Address, MetricsAddress string }
		if json.Unmarshal([]byte(line), &record) == nil && record.Msg == "serving" {
			b.address, b.metrics = record.Address, record.MetricsAddress
			return true
		}
	}
	return false
}

func (b *soakBerth) ready() bool {
	response, err := http.Get("http://" + b.metrics + "/readyz")
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// scrape asks for the metrics.
func (b *soakBerth) scrape(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code, body, err := send(ctx, http.DefaultClient, http.MethodGet, "http://"+b.metrics+"/metrics", nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	return body
}

// metric is the value of a metric without labels.
func (b *soakBerth) metric(t *testing.T, name string) float64 {
	t.Helper()
	return valueOf(t, b.scrape(t), name)
}

func valueOf(t *testing.T, metrics, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(metrics)
	require.NotNil(t, found, "no metric %s", name)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return value
}

func (b *soakBerth) sample(t *testing.T) soakSample {
	t.Helper()
	metrics := b.scrape(t)
	return soakSample{
		resident:   valueOf(t, metrics, "process_resident_memory_bytes"),
		goroutines: valueOf(t, metrics, "go_goroutines"),
		heap:       valueOf(t, metrics, "go_memstats_heap_inuse_bytes"),
		files:      valueOf(t, metrics, "process_open_fds"),
	}
}

// sampleWhile takes a sample every two seconds of a time, and tells every minute.
func (b *soakBerth) sampleWhile(t *testing.T, l *soakLoad, duration time.Duration) []soakSample {
	t.Helper()
	begun, told := time.Now(), time.Duration(0)
	every := time.NewTicker(2 * time.Second)
	defer every.Stop()
	var samples []soakSample
	for time.Since(begun) < duration {
		select {
		case <-every.C:
		case err := <-b.exited:
			require.FailNow(t, "berth ended", "%v\n%s", err, b.lastOfLog(t))
		}
		s := b.sample(t)
		s.at, s.reviews = time.Since(begun), l.sent.Load()
		samples = append(samples, s)
		if s.at-told >= time.Minute {
			told = s.at
			t.Logf("%5s: %d reviews, %.1f MiB resident, %.1f MiB heap in use, %.0f goroutines, %.0f open files",
				s.at.Round(time.Second), s.reviews, s.resident/(1<<20), s.heap/(1<<20), s.goroutines, s.files)
		}
	}
	return samples
}

// end ends the process as the kubelet does.
func (b *soakBerth) end(t *testing.T) {
	t.Helper()
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-b.exited:
		assert.NoError(t, err, "%s", b.lastOfLog(t))
	case <-time.After(patience):
		t.Error("berth does not end")
	}
}

// lastOfLog is the end of the log, for messages.
func (b *soakBerth) lastOfLog(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(b.log)
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(text[max(0, len(text)-4096):])
}

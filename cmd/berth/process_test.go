package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// waitFor bounds what tests wait for (nothing takes that long); tick is how
// often they look.
const (
	waitFor = 30 * time.Second
	tick    = 20 * time.Millisecond
)

// process is a running berth serve.
type process struct {
	cmd     *exec.Cmd
	serving record // of the log
	client  *http.Client
	exited  chan struct{}

	mu      sync.Mutex
	records []record
}

// record is a log record in JSON.
type record map[string]any

func (r record) text(key string) string {
	s, _ := r[key].(string)
	return s
}

// serve starts berth serve with a self-signed certificate.
func serve(t *testing.T, args ...string) *process {
	t.Helper()
	return serveProgram(t, os.Args[0], args...)
}

// serveProgram does so with another build of berth.
func serveProgram(t *testing.T, program string, args ...string) *process {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	p := spawnProgram(t, program, append([]string{"--tls-self-signed", "--tls-self-signed-ca-out=" + ca}, args...)...)
	p.client = clientOf(t, ca)
	return p
}

// spawn starts berth serve on free ports, and waits until it listens.
func spawn(t *testing.T, args ...string) *process {
	t.Helper()
	return spawnProgram(t, os.Args[0], args...)
}

// spawnProgram does so with another build of berth.
func spawnProgram(t *testing.T, program string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*waitFor)
	t.Cleanup(cancel)
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, program, append([]string{
		"serve", "--bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--log-format=json", "--log-level=debug",
	}, args...)...)
	p.cmd.Env = append(os.Environ(), runMain+"=1", "KUBECONFIG=", "HOME="+t.TempDir())
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.exited })
	go p.read(stderr)
	p.waitForLog(t, "serving")
	return p
}

// read gathers the log until the process ends.
func (p *process) read(stderr io.Reader) {
	defer close(p.exited)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		r := record{}
		if json.Unmarshal(lines.Bytes(), &r) != nil {
			r = record{"msg": lines.Text(), "notJSON": "true"}
		}
		p.mu.Lock()
		p.records = append(p.records, r)
		p.mu.Unlock()
	}
	_ = p.cmd.Wait()
}

// find is the first record with a message, nil if there is none.
func (p *process) find(message string) record {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.records {
		if r.text("msg") == message {
			return r
		}
	}
	return nil
}

func (p *process) log() []record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.records)
}

// assertOneFormat holds that everything was logged in the format asked for,
// what client-go has to say, too.
func (p *process) assertOneFormat(t *testing.T) {
	t.Helper()
	for _, r := range p.log() {
		assert.NotContains(t, r, "notJSON", "%v", r)
	}
}

func (p *process) waitForLog(t *testing.T, message string) {
	t.Helper()
	require.Eventually(t, func() bool {
		p.serving = p.find(message)
		select {
		case <-p.exited:
			return true
		default:
			return p.serving != nil
		}
	}, waitFor, 10*time.Millisecond)
	require.NotNil(t, p.serving, "it ended early: %v", p.log())
}

func clientOf(t *testing.T, ca string) *http.Client {
	t.Helper()
	pem, err := os.ReadFile(ca)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(pem))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: waitFor}
}

// post sends a review over HTTPS, and gives the code and the body.
func (p *process) post(t *testing.T, path, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+p.serving.text("address")+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	return do(t, p.client, request)
}

// get fetches a path of the metrics server.
func (p *process) get(t *testing.T, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.serving.text("metricsAddress")+path, nil)
	require.NoError(t, err)
	return do(t, p.client, request)
}

func do(t *testing.T, client *http.Client, request *http.Request) (int, string) {
	t.Helper()
	response, err := client.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// terminate sends a signal and gives the exit code.
func (p *process) terminate(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(signal))
	return p.exitCode(t)
}

// exitCode waits until the process has ended.
func (p *process) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(waitFor):
		t.Fatal("it does not end")
		return -1
	}
}

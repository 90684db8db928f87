package test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience bounds every wait on the program: far more than it needs.
const patience = 60 * time.Second

// server is a running berth serve.
type server struct {
	cmd     *exec.Cmd
	address string // of /mutate and /validate
	metrics string // of /livez, /readyz and /metrics
	tls     *tls.Config
	client  *http.Client
}

// serve starts berth over a cluster file, with a certificate of its own, and
// ends it with the test: SIGTERM, then exit code 0.
func serve(t *testing.T, clusterFile string, flags ...string) *server {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{cmd: exec.CommandContext(ctx, berth, append([]string{
		"serve", "--cluster-file=" + clusterFile, "--tls-self-signed", "--tls-self-signed-ca-out=" + ca,
		"--bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--shutdown-delay-duration=0s", "--log-format=json",
	}, flags...)...)}
	stderr, err := s.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, s.cmd.Start())
	log := readLog(stderr)
	t.Cleanup(func() {
		assert.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
		kill := time.AfterFunc(patience, cancel)
		lines := log.wait()
		assert.NoError(t, s.cmd.Wait(), "berth must exit with 0 after SIGTERM; it logged:\n%s", lines)
		kill.Stop()
		cancel()
	})
	s.address, s.metrics = log.addresses(t)
	s.tls = trust(t, ca)
	s.client = &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: s.tls}}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// trust is a TLS configuration that trusts one authority alone.
func trust(t *testing.T, caFile string) *tls.Config {
	t.Helper()
	pem, err := os.ReadFile(caFile)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(pem), "%s holds no certificate", caFile)
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// post sends a body and gives the answer's status, header and body.
func (s *server) post(t *testing.T, path, contentType string, body io.Reader) (int, http.Header, []byte) {
	t.Helper()
	return s.send(t, http.MethodPost, path, contentType, body)
}

func (s *server) send(t *testing.T, method, path, contentType string, body io.Reader) (int, http.Header, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://"+s.address+path, body)
	require.NoError(t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, res.Header, answer
}

// serverLog is what a server logs: each line as it came, and its addresses.
type serverLog struct {
	serving chan [2]string // the two addresses, once it serves
	done    chan struct{}
	text    bytes.Buffer // to be read once done
}

// readLog reads a log to its end.
func readLog(r io.Reader) *serverLog {
	log := &serverLog{serving: make(chan [2]string, 1), done: make(chan struct{})}
	go func() {
		defer close(log.done)
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			log.text.Write(append(lines.Bytes(), '\n'))
			var record struct{ Msg, Address, MetricsAddress string }
			if json.Unmarshal(lines.Bytes(), &record) == nil && record.Msg == "serving" {
				log.serving <- [2]string{record.Address, record.MetricsAddress}
			}
		}
	}()
	return log
}

// addresses waits until the server says where it serves.
func (l *serverLog) addresses(t *testing.T) (admission, metrics string) {
	t.Helper()
	select {
	case a := <-l.serving:
		return a[0], a[1]
	case <-l.done:
		require.FailNow(t, "berth ended before it served", "%s", l.text.String())
	case <-time.After(patience):
		require.FailNow(t, "berth did not serve in time")
	}
	return "", ""
}

// wait gives the whole log once the process has closed it.
func (l *serverLog) wait() string {
	<-l.done
	return l.text.String()
}

package monitoring_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server is a running berth serve.
type server struct {
	address string // of /mutate and /validate
	metrics string // of /metrics
	client  *http.Client
}

// serve starts Berth over the demo's cluster, with a certificate of its own.
func serve(t *testing.T) *server {
	t.Helper()
	ca := filepath.Join(t.TempDir(), "ca.crt")
	p := start(t, berth, "serve", "--cluster-file="+root+"/test/demo/cluster.yaml", "--tls-self-signed", "--tls-self-signed-ca-out="+ca,
		"--bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--shutdown-delay-duration=0s", "--log-format=json", "--log-level=info")
	found := p.says(t, `"msg":"serving","address":"([^"]+)","metricsAddress":"([^"]+)"`)
	pem, err := os.ReadFile(ca)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(pem))
	s := &server{address: found[1], metrics: found[2], client: &http.Client{
		Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}},
	}}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// post sends a review, and gives the HTTP status.
func (s *server) post(t *testing.T, path string, body []byte) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.address+path, bytes.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer func() { assert.NoError(t, res.Body.Close()) }()
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(t, err)
	return res.StatusCode
}

// postFixtures sends every fixture on both roads, and something that is no review.
func (s *server) postFixtures(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(root + "/test/fixtures/*/*/review.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		s.post(t, "/mutate", body)
		s.post(t, "/validate", body)
	}
	assert.Equal(t, http.StatusBadRequest, s.post(t, "/mutate", []byte("{")))
}

// scrape gives /metrics: as text, and by name.
func (s *server) scrape(t *testing.T) (text []byte, families map[string]*dto.MetricFamily) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.metrics+"/metrics", http.NoBody)
	require.NoError(t, err)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { assert.NoError(t, res.Body.Close()) }()
	text, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err = parser.TextToMetricFamilies(bytes.NewReader(text))
	require.NoError(t, err)
	return text, families
}

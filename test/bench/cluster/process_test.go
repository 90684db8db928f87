package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAProcessIsMeasuredAndEnded(t *testing.T) {
	p, err := Start(t.TempDir(), "sleeper", []string{"BENCH_TEST=1"}, "sh", "-c", `test "$BENCH_TEST" = 1 && exec sleep 60`)
	require.NoError(t, err)
	now, highest, err := p.Resident()
	require.NoError(t, err)
	assert.Positive(t, now)
	assert.GreaterOrEqual(t, highest, now)
	_, err = p.CPU()
	require.NoError(t, err)
	p.Stop()
	_, _, err = p.Resident()
	assert.Error(t, err, "the process is gone")
}

func TestWaitingEndsWithTheProcess(t *testing.T) {
	p, err := Start(t.TempDir(), "brief", nil, "true")
	require.NoError(t, err)
	err = p.Until(t.Context(), func(context.Context) error { return errors.New("not yet") })
	assert.ErrorContains(t, err, "brief has ended: see ")
}

func TestAProgramThatIsMissingIsAnError(t *testing.T) {
	_, err := Start(t.TempDir(), "nothing", nil, "/nonexistent/program")
	assert.ErrorContains(t, err, "start nothing")
}

func TestTheCertificateServesLoopback(t *testing.T) {
	c, err := NewCertificate(t.TempDir())
	require.NoError(t, err)
	pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.Pool(), MinVersion: tls.VersionTLS12}}}
	response, err := client.Get(server.URL)
	require.NoError(t, err)
	assert.NoError(t, response.Body.Close())
	assert.Equal(t, http.StatusNotFound, response.StatusCode)
}

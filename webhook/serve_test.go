package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// waitFor bounds what tests wait for; nothing takes that long.
const waitFor = 20 * time.Second

// running is a Server on loopback listeners.
type running struct {
	*Server
	url, metricsURL, addr string
	stop                  context.CancelFunc // what SIGTERM does
	done                  chan error         // what Run returned
	roots                 *x509.CertPool
}

// start runs a server. The adjust function sees it before it starts.
func start(t *testing.T, c Config, adjust func(*Server)) *running {
	t.Helper()
	// httptest brings a certificate for 127.0.0.1 of its own.
	pattern := httptest.NewTLSServer(http.NotFoundHandler())
	defer pattern.Close()
	r := &running{done: make(chan error, 1), roots: x509.NewCertPool()}
	r.roots.AddCert(pattern.Certificate())
	if c.TLS == nil {
		c.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c.TLS.Certificates = pattern.TLS.Certificates
	r.Server = NewServer(c)
	if adjust != nil {
		adjust(r.Server)
	}
	admission, metrics := listen(t), listen(t)
	r.addr = admission.Addr().String()
	r.url, r.metricsURL = "https://"+r.addr, "http://"+metrics.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	r.stop = stop
	go func() { r.done <- r.Run(ctx, admission, metrics) }()
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// wait stops the server, if it runs, and gives what Run returned.
func (r *running) wait(t *testing.T) error {
	t.Helper()
	r.stop()
	select {
	case err := <-r.done:
		return err
	case <-time.After(waitFor):
		t.Fatal("Run does not end")
		return nil
	}
}

// client is a client with connections of its own.
func (r *running) client(t *testing.T, http2 bool) *http.Client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: r.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: http2,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: waitFor}
}

// status is the code of a path of the metrics server, 0 if it doesn't answer.
func (r *running) status(path string) int {
	response, err := http.Get(r.metricsURL + path)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestServersHaveEveryTimeOut(t *testing.T) {
	s := NewServer(configOf(pipelineOf(emptyView{}, nil)))
	for name, server := range map[string]*http.Server{"admission": s.admission, "metrics": s.metrics} {
		assert.NotZero(t, server.ReadHeaderTimeout, name)
		assert.NotZero(t, server.ReadTimeout, name)
		assert.Greater(t, server.WriteTimeout, server.ReadTimeout, name)
		assert.Greater(t, server.IdleTimeout, 90*time.Second, "%s: the API server must be the side that closes", name)
		assert.Equal(t, 64<<10, server.MaxHeaderBytes, name)
		assert.NotNil(t, server.ErrorLog, name)
	}
}

func TestHTTP2OnlyIfAsked(t *testing.T) {
	cases := map[string]struct {
		protocols []string
		want      string
	}{
		"not asked for, HTTP/1.1 is spoken": {[]string{"http/1.1"}, "HTTP/1.1"},
		"without protocols, HTTP/1.1":       {nil, "HTTP/1.1"},
		"asked for, HTTP/2 is spoken":       {[]string{"h2", "http/1.1"}, "HTTP/2.0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := configOf(pipelineOf(emptyView{}, nil))
			c.TLS = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: tc.protocols}
			r := start(t, c, nil)
			response, err := send(r.client(t, true), r.url, plainReview("u", "", "pods", "DELETE"))
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, response.StatusCode)
			assert.Equal(t, tc.want, response.Proto)
			require.NoError(t, r.wait(t))
		})
	}
}

func TestRunEndsIfAServerStops(t *testing.T) {
	for name, broken := range map[string]int{"serve admission": 0, "serve metrics": 1} {
		t.Run(name, func(t *testing.T) {
			listeners := []net.Listener{listen(t), listen(t)}
			require.NoError(t, listeners[broken].Close())
			err := NewServer(configOf(pipelineOf(emptyView{}, nil))).runWithTLS(t, listeners)
			require.ErrorContains(t, err, name)
			_, err = listeners[1-broken].Accept()
			assert.ErrorIs(t, err, net.ErrClosed, "the other listener is closed")
		})
	}
}

// runWithTLS runs a server with a certificate until it ends by itself.
func (s *Server) runWithTLS(t *testing.T, listeners []net.Listener) error {
	t.Helper()
	pattern := httptest.NewTLSServer(http.NotFoundHandler())
	defer pattern.Close()
	s.admission.TLSConfig = &tls.Config{Certificates: pattern.TLS.Certificates, MinVersion: tls.VersionTLS12}
	ctx, cancel := context.WithTimeout(t.Context(), waitFor)
	defer cancel()
	return s.Run(ctx, listeners[0], listeners[1])
}

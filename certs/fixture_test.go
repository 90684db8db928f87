package certs

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cert-manager/cert-manager/pkg/util/pki"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	testInterval = 2 * time.Millisecond
	patience     = 20 * time.Second
)

// authority is a CA of a test.
type authority struct {
	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t testing.TB, name string) *authority {
	t.Helper()
	key, err := pki.GenerateECPrivateKey(pki.ECCurve256)
	require.NoError(t, err)
	template := newTemplate(name, time.Now())
	template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
	data, cert, err := pki.SignCertificate(template, template, key.Public(), key)
	require.NoError(t, err)
	return &authority{t: t, cert: cert, key: key, pem: data}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// pemPair is a certificate and its key, as they stand in files.
type pemPair struct{ cert, key []byte }

func (a *authority) issue(template *x509.Certificate) pemPair {
	a.t.Helper()
	key, err := pki.GenerateECPrivateKey(pki.ECCurve256)
	require.NoError(a.t, err)
	cert, _, err := pki.SignCertificate(template, a.cert, key.Public(), a.key)
	require.NoError(a.t, err)
	keyPEM, err := pki.EncodeECPrivateKey(key)
	require.NoError(a.t, err)
	return pemPair{cert: cert, key: keyPEM}
}

// serving is a pair for 127.0.0.1, told from others by its common name.
func (a *authority) serving(name string) pemPair {
	return a.issue(servingTemplate(name, time.Now().Add(-time.Hour), time.Now().Add(time.Hour)))
}

func servingTemplate(name string, notBefore, notAfter time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, NotBefore: notBefore, NotAfter: notAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func (a *authority) client(name string) tls.Certificate {
	a.t.Helper()
	template := servingTemplate(name, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.issue(template).load(a.t)
}

func (p pemPair) load(t testing.TB) tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(p.cert, p.key)
	require.NoError(t, err)
	return pair
}

// secretDir is a folder with the two files of a TLS Secret.
type secretDir struct {
	t         testing.TB
	cert, key string
}

func newSecretDir(t testing.TB) secretDir {
	dir := t.TempDir()
	return secretDir{t: t, cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key")}
}

func (d secretDir) write(p pemPair) {
	d.t.Helper()
	require.NoError(d.t, os.WriteFile(d.key, p.key, 0o600))
	require.NoError(d.t, os.WriteFile(d.cert, p.cert, 0o600))
}

// logBuffer keeps what a logger writes, a JSON object a line.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func newLog() (*slog.Logger, *logBuffer) {
	b := &logBuffer{}
	return slog.New(slog.NewJSONHandler(b, nil)), b
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// lines are those of a level that contain text, in their msg or error.
func (b *logBuffer) lines(t testing.TB, level, text string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []string
	for line := range strings.Lines(b.buf.String()) {
		var entry struct{ Level, Msg, Error, File string }
		assert.NoError(t, json.Unmarshal([]byte(line), &entry))
		if entry.Level == level && strings.Contains(entry.Msg+" "+entry.Error+" "+entry.File, text) {
			found = append(found, line)
		}
	}
	return found
}

// run runs until the test ends, and checks that the end is no error.
func run(t testing.TB, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			assert.NoError(t, err)
		case <-time.After(patience):
			t.Error("Run did not end with its context")
		}
	})
}

// serve answers each TLS connection on loopback with one byte.
func serve(t testing.TB, config *tls.Config) (addr string) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	require.NoError(t, err)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { answer(conn) })
		}
	})
	t.Cleanup(func() {
		assert.NoError(t, listener.Close())
		conns.Wait()
	})
	return listener.Addr().String()
}

// answer writes a byte, and nothing to a client that failed the handshake.
func answer(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = conn.Write([]byte{1})
	_ = conn.Close()
}

// dial makes a connection and reads the byte: with TLS 1.3, only that tells
// whether the server took the client's certificate.
func dial(addr string, config *tls.Config) (tls.ConnectionState, error) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", addr, config)
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		return tls.ConnectionState{}, err
	}
	return conn.ConnectionState(), nil
}

// servedName is the common name of the certificate that the server shows.
func servedName(addr string, roots *x509.CertPool) (string, error) {
	state, err := dial(addr, &tls.Config{RootCAs: roots})
	if err != nil {
		return "", err
	}
	return state.PeerCertificates[0].Subject.CommonName, nil
}

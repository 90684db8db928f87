package certs

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestServerConfigProtocols(t *testing.T) {
	ca := newAuthority(t, "ca")
	pair, client := ca.serving("server").load(t), ca.client("client")
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	tests := map[string]struct {
		http2   bool
		offered []string
		want    string
	}{
		"if HTTP/2 is on and offered, it is chosen":       {http2: true, offered: []string{"http/1.1", "h2"}, want: "h2"},
		"if HTTP/2 is on and not offered, HTTP/1.1":       {http2: true, offered: []string{"http/1.1"}, want: "http/1.1"},
		"if HTTP/2 is off and offered, HTTP/1.1":          {offered: []string{"h2", "http/1.1"}, want: "http/1.1"},
		"if the client offers nothing, nothing is chosen": {http2: true},
	}
	for name, tc := range tests {
		for kind, cas := range map[string]func() *x509.CertPool{"without client CAs": nil, "with client CAs": ca.pool} {
			t.Run(name+" "+kind, func(t *testing.T) {
				addr := serve(t, ServerConfig(get, cas, tc.http2))
				state, err := dial(addr, &tls.Config{
					RootCAs: ca.pool(), NextProtos: tc.offered, Certificates: []tls.Certificate{client},
				})
				require.NoError(t, err)
				assert.Equal(t, tc.want, state.NegotiatedProtocol)
			})
		}
	}
}

func TestServerConfigRefusesOldTLS(t *testing.T) {
	ca := newAuthority(t, "ca")
	pair, client := ca.serving("server").load(t), ca.client("client")
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	for kind, cas := range map[string]func() *x509.CertPool{"without client CAs": nil, "with client CAs": ca.pool} {
		t.Run(kind, func(t *testing.T) {
			addr := serve(t, ServerConfig(get, cas, false))
			config := &tls.Config{
				RootCAs: ca.pool(), Certificates: []tls.Certificate{client},
				MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
			}
			_, err := dial(addr, config)
			require.ErrorContains(t, err, "protocol version not supported")
			config.MaxVersion = tls.VersionTLS12
			_, err = dial(addr, config)
			require.NoError(t, err)
		})
	}
}

func TestServerConfigResumesOnlyWithoutClientCAs(t *testing.T) {
	ca := newAuthority(t, "ca")
	pair, client := ca.serving("server").load(t), ca.client("client")
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	tests := map[string]struct {
		cas     func() *x509.CertPool
		resumes bool
	}{
		"if no client CAs are given, a session is resumed": {resumes: true},
		"if client CAs are given, every handshake is full": {cas: ca.pool},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			addr := serve(t, ServerConfig(get, tc.cas, false))
			config := &tls.Config{
				RootCAs: ca.pool(), Certificates: []tls.Certificate{client},
				ClientSessionCache: tls.NewLRUClientSessionCache(4),
			}
			_, err := dial(addr, config)
			require.NoError(t, err)
			state, err := dial(addr, config)
			require.NoError(t, err)
			assert.Equal(t, tc.resumes, state.DidResume)
		})
	}
}

// A nil pool must never reach crypto/x509, for which it means the system's CAs.
func TestServerConfigWithoutAPoolTakesNobody(t *testing.T) {
	ca := newAuthority(t, "ca")
	pair, client := ca.serving("server").load(t), ca.client("client")
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	config := ServerConfig(get, func() *x509.CertPool { return nil }, false)
	_, err := config.GetConfigForClient(&tls.ClientHelloInfo{})
	require.EqualError(t, err, "no client CAs are loaded")
	assert.Equal(t, tls.RequireAndVerifyClientCert, config.ClientAuth)
	assert.NotNil(t, config.ClientCAs)
	addr := serve(t, config)
	for name, certs := range map[string][]tls.Certificate{"without a certificate": nil, "with one": {client}} {
		t.Run(name, func(t *testing.T) {
			_, err := dial(addr, &tls.Config{RootCAs: ca.pool(), Certificates: certs})
			require.ErrorContains(t, err, "internal error")
		})
	}
}

func TestServerConfigWithoutACertificateFailsTheHandshake(t *testing.T) {
	dir := newSecretDir(t)
	log, _ := newLog()
	addr := serve(t, ServerConfig(NewFileSource(dir.cert, dir.key, log).GetCertificate, nil, false))
	_, err := dial(addr, &tls.Config{RootCAs: x509.NewCertPool()})
	require.ErrorContains(t, err, "remote error: tls: ")
}

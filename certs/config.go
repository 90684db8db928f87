package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// GetCertificate gives the certificate for a handshake, as tls.Config asks for it.
type GetCertificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// ServerConfig is the TLS side of the server: TLS 1.2 at least, Go's own
// cipher suites, HTTP/2 only if http2 is true. An http.Server adds HTTP/2 by
// itself unless its Protocols or its TLSNextProto say otherwise.
//
// If clientCAs is not nil, clients must show a certificate of one of the CAs
// that it gives at the time of the handshake; should it give nil, every
// handshake fails.
func ServerConfig(get GetCertificate, clientCAs func() *x509.CertPool, http2 bool) *tls.Config {
	config := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     nextProtos(http2),
		GetCertificate: get,
	}
	if clientCAs != nil {
		requireClientCert(config, clientCAs)
	}
	return config
}

func nextProtos(http2 bool) []string {
	if http2 {
		return []string{"h2", "http/1.1"}
	}
	return []string{"http/1.1"}
}

func requireClientCert(config *tls.Config, clientCAs func() *x509.CertPool) {
	config.ClientAuth = tls.RequireAndVerifyClientCert
	// A nil pool would mean the system's CAs (crypto/x509, VerifyOptions.Roots).
	config.ClientCAs = x509.NewCertPool()
	// A client that resumes a session shows no certificate. Go checks the old
	// one against today's bundle (crypto/tls, anyValidVerifiedChain); this
	// doesn't lean on it: connections live long, so full handshakes cost little.
	config.SessionTicketsDisabled = true
	base := config.Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		pool := clientCAs()
		if pool == nil {
			return nil, errors.New("no client CAs are loaded")
		}
		current := base.Clone()
		current.ClientCAs = pool
		return current, nil
	}
}

package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"
)

// Target is a webhook.
type Target struct {
	Address string // host:port
	Path    string
	CAs     *x509.CertPool
}

// answerTimeout bounds the wait for one answer.
const answerTimeout = 30 * time.Second

// dial opens a connection that speaks one protocol: http/1.1 or h2.
func (t Target) dial(ctx context.Context, protocol string) (*tls.Conn, error) {
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: answerTimeout}, Config: &tls.Config{
		RootCAs: t.CAs, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
	}}
	raw, err := dialer.DialContext(ctx, "tcp", t.Address)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", t.Address, err)
	}
	conn, ok := raw.(*tls.Conn)
	if got := conn.ConnectionState().NegotiatedProtocol; !ok || got != protocol && (protocol == "h2" || got != "") {
		_ = raw.Close()
		return nil, fmt.Errorf("%s speaks %q instead of %s", t.Address, got, protocol)
	}
	return conn, nil
}

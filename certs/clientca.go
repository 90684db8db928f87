package certs

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// ClientCAFile is a bundle of CA certificates in a PEM file, reloaded when it
// changes: clients must show a certificate of one of them. Whatever stands in
// the file, the last good bundle stays in use.
type ClientCAFile struct {
	path     string
	log      *slog.Logger
	failures failureLog
	interval time.Duration
	pool     atomic.Pointer[x509.CertPool]
	data     []byte // of the pool; for the constructor and the goroutine of Run
}

// NewClientCAFile reads the bundle. A file that can't be read or holds no
// certificate is an error: without a CA, nobody could be told from anybody.
func NewClientCAFile(path string, log *slog.Logger) (*ClientCAFile, error) {
	c := &ClientCAFile{path: path, log: log, failures: failureLog{log: log}, interval: pollInterval}
	if _, err := c.reload(); err != nil {
		return nil, err
	}
	return c, nil
}

// Run reads the file once a second until ctx is done, and then returns nil.
// Changes are logged once each, failures once for each reason. Call it once.
func (c *ClientCAFile) Run(ctx context.Context) error {
	poll(ctx, c.interval, c.observe)
	return nil
}

// Pool is the last good bundle; never nil. Connections made before a change
// are not closed by it.
func (c *ClientCAFile) Pool() *x509.CertPool { return c.pool.Load() }

func (c *ClientCAFile) observe() {
	changed, err := c.reload()
	c.failures.report("the client CAs could not be reloaded; the last good bundle stays in use", err)
	if changed {
		c.log.Info("client CAs reloaded", "file", c.path)
	}
}

// reload takes the file's bundle if it is another and good.
func (c *ClientCAFile) reload() (changed bool, err error) {
	data, err := readNotEmpty(c.path)
	if err != nil {
		return false, fmt.Errorf("reading the client CAs: %w", err)
	}
	if bytes.Equal(data, c.data) {
		return false, nil
	}
	pool, err := parseBundle(data)
	if err != nil {
		return false, fmt.Errorf("reading the client CAs: %s: %w", c.path, err)
	}
	c.data = data
	c.pool.Store(pool)
	return true, nil
}

// parseBundle is strict where x509's AppendCertsFromPEM is not: one block that
// can't be read fails the bundle, because a file half written would drop a CA
// for the time being. Blocks of other types are passed over.
func parseBundle(data []byte) (*x509.CertPool, error) {
	pool, certs, blocks := x509.NewCertPool(), 0, 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		blocks++
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("PEM block %d: %w", blocks, err)
		}
		pool.AddCert(cert)
		certs++
	}
	if begun := bytes.Count(data, []byte("-----BEGIN")); begun > blocks {
		return nil, fmt.Errorf("%d of %d PEM blocks can't be read", begun-blocks, begun)
	}
	if certs == 0 {
		return nil, errors.New("no PEM certificate in it")
	}
	return pool, nil
}

package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	servertls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/go-logr/logr"
)

// FileSource is a serving certificate in two PEM files, for example those of a
// cert-manager Secret's volume, reloaded when they change. Missing, empty,
// half-written or mismatched files leave the last good pair in use.
type FileSource struct {
	source   servertls.FileCertificateSource
	log      *slog.Logger
	failures failureLog
	interval time.Duration
	now      func() time.Time

	// sourceLog hears cert-manager's source, which complains at every poll;
	// discarded, because observe says the same once.
	sourceLog logr.Logger

	// What observe saw last; for the goroutine of Run only.
	seen    files
	seenErr error
	served  *tls.Certificate
}

// NewFileSource names the files; [FileSource.Run] reads them.
func NewFileSource(certFile, keyFile string, log *slog.Logger) *FileSource {
	return &FileSource{
		// A file that can't be read never ends the source: the pair served
		// stays good, and the files may come back.
		source:    servertls.FileCertificateSource{CertPath: certFile, KeyPath: keyFile, MaxFailures: math.MaxInt},
		log:       log,
		failures:  failureLog{log: log},
		interval:  pollInterval,
		now:       time.Now,
		sourceLog: logr.Discard(),
	}
}

// Run reads the files once a second until ctx is done, and then returns nil.
// Changes are logged once each, failures once for each reason. Call it once.
func (s *FileSource) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.source.UpdateInterval = s.interval
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- s.source.Start(logr.NewContext(ctx, s.sourceLog))
	}()
	poll(ctx, s.interval, s.observe)
	if err := <-ended; err != nil {
		return fmt.Errorf("reloading the serving certificate: %w", err)
	}
	return nil
}

// GetCertificate is the last good pair, for tls.Config; an error if none was read yet.
func (s *FileSource) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.source.GetCertificate(hello)
}

// Ready is nil if a certificate is served that is valid now. Otherwise it says
// what is wrong: which file can't be read and why, or when the certificate expired.
func (s *FileSource) Ready() error {
	// Not the source's Healthy, which reads its field without the lock.
	cert, err := s.source.GetCertificate(nil)
	if err == nil {
		return checkValidity(cert, s.now())
	}
	f, err := readFiles(s.source.CertPath, s.source.KeyPath)
	if err != nil {
		return err
	}
	if err := s.check(f); err != nil {
		return err
	}
	return errors.New("the serving certificate is not loaded yet")
}

// NotAfter is when the certificate served now expires; false if there is none yet.
func (s *FileSource) NotAfter() (time.Time, bool) {
	cert, err := s.source.GetCertificate(nil)
	if err != nil {
		return time.Time{}, false
	}
	return notAfter(cert)
}

// check tells whether the files make a pair.
func (s *FileSource) check(f files) error {
	if _, err := tls.X509KeyPair(f.cert, f.key); err != nil {
		return fmt.Errorf("serving certificate %s with key %s: %w", s.source.CertPath, s.source.KeyPath, err)
	}
	return nil
}

// observe logs what the files and the source have become since the last poll.
func (s *FileSource) observe() {
	s.failures.report("the serving certificate could not be loaded; the last good one, if any, stays in use", s.look())
	cert, err := s.source.GetCertificate(nil)
	if err != nil || cert == s.served {
		return
	}
	s.served = cert
	expires, _ := notAfter(cert)
	s.log.Info("serving certificate loaded", "file", s.source.CertPath, "notAfter", rfc3339(expires))
}

// look is what is wrong with the files now. Unchanged bytes are not parsed
// again: an RSA key takes milliseconds.
func (s *FileSource) look() error {
	f, err := readFiles(s.source.CertPath, s.source.KeyPath)
	if err != nil {
		return err
	}
	if !bytes.Equal(f.cert, s.seen.cert) || !bytes.Equal(f.key, s.seen.key) {
		s.seen, s.seenErr = f, s.check(f)
	}
	return s.seenErr
}

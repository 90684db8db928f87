package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"time"
)

// files are the bytes of a certificate and of its private key, as read from disk.
type files struct {
	cert, key []byte
}

// readFiles reads both; the error names the file.
func readFiles(certFile, keyFile string) (files, error) {
	cert, err := readNotEmpty(certFile)
	if err != nil {
		return files{}, fmt.Errorf("reading the serving certificate: %w", err)
	}
	key, err := readNotEmpty(keyFile)
	if err != nil {
		return files{}, fmt.Errorf("reading the serving certificate's key: %w", err)
	}
	return files{cert: cert, key: key}, nil
}

// readNotEmpty reads a file and takes an empty one for an error: it is being written.
func readNotEmpty(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	return data, nil
}

// leaf is the parsed certificate of a pair. It never writes cert.Leaf: the
// pair is shared by all handshakes.
func leaf(cert *tls.Certificate) (*x509.Certificate, error) {
	if cert.Leaf != nil {
		return cert.Leaf, nil
	}
	if len(cert.Certificate) == 0 {
		return nil, errors.New("the serving certificate is empty")
	}
	parsed, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("parsing the serving certificate: %w", err)
	}
	return parsed, nil
}

// checkValidity tells whether clients would take the certificate at this
// time (RFC 5280, 4.1.2.5: both ends are inclusive).
func checkValidity(cert *tls.Certificate, now time.Time) error {
	parsed, err := leaf(cert)
	if err != nil {
		return err
	}
	if now.After(parsed.NotAfter) {
		return fmt.Errorf("the serving certificate expired at %s", rfc3339(parsed.NotAfter))
	}
	if now.Before(parsed.NotBefore) {
		return fmt.Errorf("the serving certificate is not valid before %s", rfc3339(parsed.NotBefore))
	}
	return nil
}

// notAfter is when a certificate expires; false if it can't be parsed.
func notAfter(cert *tls.Certificate) (time.Time, bool) {
	parsed, err := leaf(cert)
	if err != nil {
		return time.Time{}, false
	}
	return parsed.NotAfter, true
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }

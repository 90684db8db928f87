package certs

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cert-manager/cert-manager/pkg/util/pki"
)

const (
	selfSignedLifetime = 365 * 24 * time.Hour
	// clockSkew is how far back a new certificate is valid, for clients whose
	// clock is behind.
	clockSkew = 5 * time.Minute
)

// SelfSigned is a serving certificate for development: made in memory and
// signed by a CA that is made with it and whose key is thrown away.
type SelfSigned struct {
	cert *tls.Certificate
	ca   []byte
	now  func() time.Time
}

// NewSelfSigned makes an ECDSA P-256 certificate, valid for a year, for
// localhost, 127.0.0.1, ::1 and the given host names and IP addresses. What is
// neither is an error.
func NewSelfSigned(hosts []string) (*SelfSigned, error) {
	names, ips, err := subjectAltNames(hosts)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	ca, caPEM, caKey, err := newCA(now)
	if err != nil {
		return nil, fmt.Errorf("making the development CA: %w", err)
	}
	key, err := pki.GenerateECPrivateKey(pki.ECCurve256)
	if err != nil {
		return nil, fmt.Errorf("making the development certificate's key: %w", err)
	}
	template := newTemplate("berth", now)
	template.DNSNames, template.IPAddresses = names, ips
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	_, cert, err := pki.SignCertificate(template, ca, key.Public(), caKey)
	if err != nil {
		return nil, fmt.Errorf("making the development certificate: %w", err)
	}
	pair := &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key, Leaf: cert}
	return &SelfSigned{cert: pair, ca: caPEM, now: time.Now}, nil
}

// GetCertificate is the certificate, for tls.Config; never an error.
func (s *SelfSigned) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.cert, nil
}

// Ready is nil while the certificate is valid.
func (s *SelfSigned) Ready() error { return checkValidity(s.cert, s.now()) }

// NotAfter is when the certificate expires; always known.
func (s *SelfSigned) NotAfter() (time.Time, bool) { return notAfter(s.cert) }

// CAPEM is the CA's certificate in PEM, which clients have to trust.
func (s *SelfSigned) CAPEM() []byte { return slices.Clone(s.ca) }

// WriteCA writes the CA's certificate to a file that anyone may read (0644),
// for curl's --cacert. Who reads the file sees the old one or the new one,
// never a part.
func (s *SelfSigned) WriteCA(path string) error {
	if err := writeAtomically(path, s.ca); err != nil {
		return fmt.Errorf("writing the development CA: %w", err)
	}
	return nil
}

// newCA makes the CA that signs the certificate, and nothing below it.
func newCA(now time.Time) (*x509.Certificate, []byte, *ecdsa.PrivateKey, error) {
	key, err := pki.GenerateECPrivateKey(pki.ECCurve256)
	if err != nil {
		return nil, nil, nil, err
	}
	template := newTemplate("berth development CA", now)
	template.IsCA, template.MaxPathLenZero = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	pem, cert, err := pki.SignCertificate(template, template, key.Public(), key)
	return cert, pem, key, err
}

func newTemplate(commonName string, now time.Time) *x509.Certificate {
	return &x509.Certificate{
		Subject:               pkix.Name{CommonName: commonName},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(selfSignedLifetime),
		BasicConstraintsValid: true,
	}
}

// subjectAltNames sorts hosts into names and addresses, each once, and adds
// those of the loopback interface.
func subjectAltNames(hosts []string) (names []string, ips []net.IP, err error) {
	var wrong []error
	for _, host := range slices.Concat([]string{"localhost", "127.0.0.1", "::1"}, hosts) {
		ip := net.ParseIP(host)
		switch {
		case ip != nil:
			if !slices.ContainsFunc(ips, ip.Equal) {
				ips = append(ips, ip)
			}
		case !isHostName(host):
			wrong = append(wrong, fmt.Errorf("%q is neither a host name nor an IP address", host))
		case !slices.Contains(names, host):
			names = append(names, host)
		}
	}
	return names, ips, errors.Join(wrong...)
}

// isHostName tells whether a TLS client could ask for this name: labels of
// letters, digits and hyphens (RFC 1123, 2.1), 253 characters at most. The
// first may be the wildcard (RFC 6125, 6.4.3).
func isHostName(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimPrefix(host, "*."), ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool { return !isHostRune(r) }) {
			return false
		}
	}
	return true
}

func isHostRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-'
}

// writeAtomically writes beside the file and renames.
func writeAtomically(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clientCA signs client certificates.
type clientCA struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
}

func newClientCA(t *testing.T) *clientCA {
	t.Helper()
	ca := &clientCA{file: filepath.Join(t.TempDir(), "clients.crt")}
	template := clientTemplate(time.Hour)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage, template.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	pair := ca.sign(t, template)
	ca.cert, ca.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw})
	require.NoError(t, os.WriteFile(ca.file, text, 0o600))
	return ca
}

// clientTemplate is a client's certificate that ends so much later than now.
func clientTemplate(ends time.Duration) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "kube-apiserver"},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(ends),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// sign makes a certificate; the CA's own if it has none yet.
func (ca *clientCA) sign(t *testing.T, template *x509.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	parent, signer := ca.cert, ca.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// TestOnlyClientsOfTheCAAreServed has clients of all sorts ask again and again
// at the same time.
func TestOnlyClientsOfTheCAAreServed(t *testing.T) {
	t.Parallel()
	const times = 15
	ca, otherCA := newClientCA(t), newClientCA(t)
	forServers, itself := clientTemplate(time.Hour), &clientCA{}
	forServers.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	p := serve(t, "--cluster-file="+clusterFile(t), "--shutdown-delay-duration=0s", "--http2", "--client-ca-file="+ca.file)
	roots := p.dialing(t).roots
	t.Cleanup(func() {
		decided, _ := p.answered()
		assert.Equal(t, times, decided, "only the right client got decisions")
	})
	for name, tc := range map[string]struct {
		cert   *tls.Certificate
		served bool
	}{
		"the right certificate":                         {cert: ca.sign(t, clientTemplate(time.Hour)), served: true},
		"no certificate":                                {},
		"one that has expired":                          {cert: ca.sign(t, clientTemplate(-time.Hour))},
		"one of another CA that has the same name":      {cert: otherCA.sign(t, clientTemplate(time.Hour))},
		"one that signed itself":                        {cert: itself.sign(t, clientTemplate(time.Hour))},
		"one for servers":                               {cert: ca.sign(t, forServers)},
		"the right one, shown with another private key": {cert: withKeyOf(ca.sign(t, clientTemplate(time.Hour)), otherCA.sign(t, clientTemplate(time.Hour)))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served, refused, reason, alerts := 0, 0, "", 0
			for n := range times {
				client := withCertificate(t, roots, tc.cert, p.serving.text("address"))
				if err := rewritten(client, fmt.Sprint("u-", n)); err != nil {
					// The write may fail before the alert has been read.
					refused, reason = refused+1, err.Error()
					alerts += strings.Count(reason, "remote error: tls: ")
				} else {
					served++
				}
			}
			t.Logf("%d requests sent, %d served, %d refused %.120s", times, served, refused, reason)
			if tc.served {
				assert.Equal(t, times, served, reason)
			} else {
				assert.Equal(t, times, refused)
				assert.Positive(t, alerts, reason)
			}
		})
	}
}

func withKeyOf(cert, other *tls.Certificate) *tls.Certificate {
	return &tls.Certificate{Certificate: cert.Certificate, PrivateKey: other.PrivateKey}
}

// withCertificate shows a certificate whatever CAs the server names; nil: none.
func withCertificate(t *testing.T, roots *x509.CertPool, cert *tls.Certificate, address string) *http.Client {
	t.Helper()
	client := dialing{roots: roots, address: func() string { return address }, once: true}.client(t)
	if cert != nil {
		config := client.Transport.(*http.Transport).TLSClientConfig
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	return client
}

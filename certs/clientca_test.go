package certs

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestClientCAFileAtStart(t *testing.T) {
	ca := newAuthority(t, "ca")
	broken := bytes.Replace(ca.pem, []byte("\nMII"), []byte("\nAAA"), 1)
	require.NotEqual(t, ca.pem, broken)
	tests := map[string]struct {
		data    []byte
		problem string
	}{
		"if it holds a CA, it is taken":                   {data: ca.pem},
		"if it holds two and comments, it is taken":       {data: slices.Concat([]byte("# ours\n"), ca.pem, []byte("# theirs\n"), newAuthority(t, "b").pem)},
		"if a key stands beside the CA, it is taken":      {data: slices.Concat(ca.serving("x").key, ca.pem)},
		"if it is empty, an error":                        {data: []byte{}, problem: "is empty"},
		"if it is missing, an error":                      {problem: "no such file or directory"},
		"if it is no PEM, an error":                       {data: []byte("hello\n"), problem: "no PEM certificate in it"},
		"if it holds a key only, an error":                {data: ca.serving("x").key, problem: "no PEM certificate in it"},
		"if the last CA is cut, an error":                 {data: slices.Concat(ca.pem, ca.pem[:len(ca.pem)/2]), problem: "1 of 2 PEM blocks can't be read"},
		"if a CA is cut and another follows, an error":    {data: slices.Concat(ca.pem[:len(ca.pem)/2], []byte("\n"), ca.pem), problem: "PEM blocks can't be read"},
		"if a block holds no certificate, it is an error": {data: slices.Concat(ca.pem, broken), problem: "PEM block 2: "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ca.crt")
			if tc.data != nil {
				overwrite(t, path, tc.data)
			}
			log, _ := newLog()
			c, err := NewClientCAFile(path, log)
			if tc.problem == "" {
				require.NoError(t, err)
				assert.NotNil(t, c.Pool())
				return
			}
			require.ErrorContains(t, err, tc.problem)
			assert.ErrorContains(t, err, path)
		})
	}
}

// mutualTLS is a server that takes clients of a bundle in a file.
type mutualTLS struct {
	addr, bundle string
	serverCA     *authority
	lines        *logBuffer
}

func startMutualTLS(t *testing.T, bundle []byte) mutualTLS {
	t.Helper()
	serverCA := newAuthority(t, "server ca")
	pair := serverCA.serving("server").load(t)
	path := filepath.Join(t.TempDir(), "ca.crt")
	overwrite(t, path, bundle)
	log, lines := newLog()
	cas, err := NewClientCAFile(path, log)
	require.NoError(t, err)
	cas.interval = testInterval
	run(t, cas.Run)
	get := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &pair, nil }
	return mutualTLS{addr: serve(t, ServerConfig(get, cas.Pool, false)), bundle: path, serverCA: serverCA, lines: lines}
}

// connect dials with the client's certificate, whatever CAs the server names;
// nil: without one.
func (m mutualTLS) connect(config *tls.Config, cert *tls.Certificate) error {
	config.RootCAs = m.serverCA.pool()
	if cert != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	_, err := dial(m.addr, config)
	return err
}

func TestClientsMustShowACertificateOfTheCA(t *testing.T) {
	ca := newAuthority(t, "client ca")
	server := startMutualTLS(t, ca.pem)
	right := ca.client("right")
	wrong := newAuthority(t, "client ca").client("wrong")
	ofServerCA := server.serverCA.client("of the server's CA")
	expired := servingTemplate("expired", time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour))
	expired.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	old, serving := ca.issue(expired).load(t), ca.serving("a server's").load(t)
	tests := map[string]struct {
		cert  *tls.Certificate
		taken bool
	}{
		"if it is of the CA, taken":                        {cert: &right, taken: true},
		"if there is none, refused":                        {},
		"if it is of another CA of the same name, refused": {cert: &wrong},
		"if it is of the server's own CA, refused":         {cert: &ofServerCA},
		"if it has expired, refused":                       {cert: &old},
		"if it is for servers only, refused":               {cert: &serving},
	}
	for name, tc := range tests {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(name+" with "+tls.VersionName(version), func(t *testing.T) {
				err := server.connect(&tls.Config{MinVersion: version, MaxVersion: version}, tc.cert)
				if tc.taken {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, "remote error: tls: ")
				}
			})
		}
	}
}

func TestARotatedClientCAIsUsedAtOnce(t *testing.T) {
	before, after := newAuthority(t, "before"), newAuthority(t, "after")
	server := startMutualTLS(t, before.pem)
	oldClient, newClient := before.client("old"), after.client("new")
	// With a session cache a client would resume, and show no certificate again.
	resuming := &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(4), MaxVersion: tls.VersionTLS12}
	resuming13 := &tls.Config{ClientSessionCache: tls.NewLRUClientSessionCache(4)}
	require.NoError(t, server.connect(resuming, &oldClient))
	require.NoError(t, server.connect(resuming13, &oldClient))
	require.Error(t, server.connect(&tls.Config{}, &newClient))

	overwrite(t, server.bundle, slices.Concat(before.pem, after.pem))
	require.Eventually(t, func() bool { return server.connect(&tls.Config{}, &newClient) == nil }, patience, testInterval)
	require.NoError(t, server.connect(resuming, &oldClient))

	overwrite(t, server.bundle, after.pem)
	require.Eventually(t, func() bool { return server.connect(&tls.Config{}, &oldClient) != nil }, patience, testInterval)
	require.Error(t, server.connect(resuming, &oldClient))
	require.Error(t, server.connect(resuming13, &oldClient))
	require.NoError(t, server.connect(&tls.Config{}, &newClient))
	reloaded := func() bool { return len(server.lines.lines(t, "INFO", "client CAs reloaded")) >= 2 }
	require.Eventually(t, reloaded, patience, testInterval)
}

func TestASpoiltBundleLeavesTheLastGoodOne(t *testing.T) {
	ca := newAuthority(t, "ca")
	server := startMutualTLS(t, ca.pem)
	client, stranger := ca.client("client"), newAuthority(t, "x").client("stranger")
	spoil := map[string]func(){
		"is empty":                  func() { overwrite(t, server.bundle, nil) },
		"no PEM certificate in it":  func() { overwrite(t, server.bundle, []byte("garbage")) },
		"PEM blocks can't be read":  func() { overwrite(t, server.bundle, ca.pem[:len(ca.pem)/2]) },
		"no such file or directory": func() { require.NoError(t, os.Remove(server.bundle)) },
	}
	for reason, spoil := range spoil {
		t.Run(reason, func(t *testing.T) {
			spoil()
			logged := func() bool { return len(server.lines.lines(t, "ERROR", reason)) > 0 }
			require.Eventually(t, logged, patience, testInterval)
			require.NoError(t, server.connect(&tls.Config{}, &client))
			require.Error(t, server.connect(&tls.Config{}, &stranger))
			require.Error(t, server.connect(&tls.Config{}, nil), "nobody is let in without a certificate")
			assert.Len(t, server.lines.lines(t, "ERROR", reason), 1)
		})
	}
}

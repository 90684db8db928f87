package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSelfSignedIsTrustedThroughItsCA(t *testing.T) {
	dev, err := NewSelfSigned([]string{"berth.berth-system.svc", "10.1.2.3", "127.0.0.1", "localhost", "*.example.test", "fd00::1"})
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(dev.CAPEM()))
	addr := serve(t, ServerConfig(dev.GetCertificate, nil, false))
	tests := map[string]struct {
		name    string
		roots   *x509.CertPool
		refused string
	}{
		"if asked for 127.0.0.1, it verifies":         {name: "127.0.0.1", roots: roots},
		"if asked for ::1, it verifies":               {name: "::1", roots: roots},
		"if asked for localhost, it verifies":         {name: "localhost", roots: roots},
		"if asked for a host given, it verifies":      {name: "berth.berth-system.svc", roots: roots},
		"if asked for an address given, it verifies":  {name: "10.1.2.3", roots: roots},
		"if asked for an IPv6 address, it verifies":   {name: "fd00::1", roots: roots},
		"if asked below a wildcard, it verifies":      {name: "a.example.test", roots: roots},
		"if asked for another host, it fails":         {name: "example.test", roots: roots, refused: "not example.test"},
		"if the client trusts another CA, it fails":   {name: "localhost", roots: newAuthority(t, "x").pool(), refused: "unknown authority"},
		"if the client trusts nothing more, it fails": {name: "localhost", roots: x509.NewCertPool(), refused: "unknown authority"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := dial(addr, &tls.Config{RootCAs: tc.roots, ServerName: tc.name})
			if tc.refused == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tc.refused)
			}
		})
	}
}

func TestSelfSignedShape(t *testing.T) {
	dev, err := NewSelfSigned([]string{"LocalHost.test", "127.0.0.1", "localhost"})
	require.NoError(t, err)
	pair, err := dev.GetCertificate(nil)
	require.NoError(t, err)
	cert, key := pair.Leaf, pair.Leaf.PublicKey.(*ecdsa.PublicKey)
	assert.Equal(t, elliptic.P256(), key.Curve)
	assert.Equal(t, []string{"localhost", "LocalHost.test"}, cert.DNSNames, "each name once")
	assert.Len(t, cert.IPAddresses, 2, "each address once")
	assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, cert.ExtKeyUsage)
	assert.False(t, cert.IsCA)
	assert.WithinDuration(t, time.Now().Add(365*24*time.Hour), cert.NotAfter, time.Minute)
	assert.WithinDuration(t, time.Now().Add(-5*time.Minute), cert.NotBefore, time.Minute)
	expires, known := dev.NotAfter()
	assert.True(t, known)
	assert.Equal(t, cert.NotAfter, expires)

	assert.NoError(t, dev.Ready())
	dev.now = func() time.Time { return expires }
	assert.NoError(t, dev.Ready(), "the last second counts")
	dev.now = func() time.Time { return expires.Add(time.Nanosecond) }
	assert.EqualError(t, dev.Ready(), "the serving certificate expired at "+expires.UTC().Format(time.RFC3339))
	dev.now = func() time.Time { return cert.NotBefore.Add(-time.Second) }
	assert.ErrorContains(t, dev.Ready(), "is not valid before")
}

func TestSelfSignedRefusesWhatIsNoHost(t *testing.T) {
	for _, host := range []string{
		"", "https://berth", "berth:9443", "a..b", "berth.", "-a", "a-", "a b", "bücher.test", "[::1]", "a.*.b", "*.",
		strings.Repeat("a", 64), strings.Repeat("a.", 127) + "a",
	} {
		t.Run(host, func(t *testing.T) {
			_, err := NewSelfSigned([]string{"good.test", host})
			assert.ErrorContains(t, err, "is neither a host name nor an IP address")
			assert.ErrorContains(t, err, `"`+host+`"`)
		})
	}
}

func TestWriteCAReplacesTheFile(t *testing.T) {
	dev, err := NewSelfSigned(nil)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "ca.crt")
	require.NoError(t, os.WriteFile(path, []byte("an older and much longer file"), 0o600))
	reader, err := os.Open(path)
	require.NoError(t, err)
	defer func() { _ = reader.Close() }()

	require.NoError(t, dev.WriteCA(path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, dev.CAPEM(), data)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o644), info.Mode().Perm())
	opened, err := reader.Stat()
	require.NoError(t, err)
	assert.False(t, os.SameFile(info, opened), "the file is replaced, not written over")
	onlyFile(t, path)
}

func TestWriteCASaysWhatFailed(t *testing.T) {
	dev, err := NewSelfSigned(nil)
	require.NoError(t, err)
	dir := t.TempDir()
	require.ErrorContains(t, dev.WriteCA(filepath.Join(dir, "none", "ca.crt")), "writing the development CA: ")
	target := filepath.Join(dir, "folder")
	require.NoError(t, os.Mkdir(target, 0o755))
	require.ErrorContains(t, dev.WriteCA(target), "writing the development CA: ")
	onlyFile(t, target)
}

// onlyFile checks that no temporary file is left beside path.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, filepath.Base(path), entries[0].Name())
}

func TestCAPEMIsACopy(t *testing.T) {
	dev, err := NewSelfSigned(nil)
	require.NoError(t, err)
	dev.CAPEM()[0] = 'x'
	assert.Equal(t, byte('-'), dev.CAPEM()[0])
}

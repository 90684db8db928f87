package main

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/certs"
)

func TestServeWithCertificateFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key, ca := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt")
	p := spawn(t, "--cluster-file="+clusterFile(t), "--shutdown-delay-duration=0s", "--tls-cert-file="+cert, "--tls-private-key-file="+key)
	p.client = http.DefaultClient
	code, body := p.get(t, "/readyz")
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, body, "certificate: ")
	assert.Contains(t, body, cert, "readiness names the file that is missing")

	writePair(t, cert, key, ca)
	require.Eventually(t, func() bool {
		code, _ := p.get(t, "/readyz")
		return code == http.StatusOK
	}, waitFor, tick, "the files are read when they appear")
	p.client = clientOf(t, ca)
	code, body = p.post(t, "/mutate", daemonPod("u-1", "model-cache"))
	require.Equal(t, http.StatusOK, code, body)
	assert.True(t, answerOf(t, body).Allowed)
	assert.Zero(t, p.terminate(t, syscall.SIGTERM))
}

func TestServeRequiresClientCertificates(t *testing.T) {
	dir := t.TempDir()
	ca := filepath.Join(dir, "clients.crt")
	writePair(t, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), ca)
	p := serve(t, "--cluster-file="+clusterFile(t), "--shutdown-delay-duration=0s", "--client-ca-file="+ca)
	response, err := p.client.Post("https://"+p.serving.text("address")+"/mutate", "application/json", http.NoBody)
	if err == nil {
		_ = response.Body.Close()
	}
	require.ErrorContains(t, err, "certificate required")
	code, _ := p.get(t, "/readyz")
	assert.Equal(t, http.StatusOK, code, "probes need no certificate")
	assert.Zero(t, p.terminate(t, syscall.SIGTERM))
}

// writePair writes a certificate for 127.0.0.1, its key and its CA.
func writePair(t *testing.T, cert, key, ca string) {
	t.Helper()
	own, err := certs.NewSelfSigned(nil)
	require.NoError(t, err)
	require.NoError(t, own.WriteCA(ca))
	pair, err := own.GetCertificate(nil)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	write := func(file, kind string, data []byte) {
		require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
	}
	write(key, "PRIVATE KEY", der)
	write(cert, "CERTIFICATE", pair.Certificate[0])
}

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// secret is a folder with a serving certificate, and how it is replaced.
type secret struct {
	dir     string
	publish func(t *testing.T, version string) // from the folder of that version
}

// overwritten is a folder whose files are written over, the key first: for a
// moment they are empty, and for another they are no pair.
func overwritten(t *testing.T) secret {
	s := secret{dir: t.TempDir()}
	s.publish = func(t *testing.T, version string) {
		for _, file := range []string{"tls.key", "tls.crt"} {
			data, err := os.ReadFile(filepath.Join(version, file))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(s.dir, file), data, 0o600))
		}
	}
	return s
}

// projected is a Secret's volume as a kubelet lays it out: files are links
// through ..data, which a rename replaces (pkg/volume/util in Kubernetes, AtomicWriter).
func projected(t *testing.T) secret {
	s := secret{dir: t.TempDir()}
	for _, file := range []string{"tls.key", "tls.crt"} {
		require.NoError(t, os.Symlink(filepath.Join("..data", file), filepath.Join(s.dir, file)))
	}
	s.publish = func(t *testing.T, version string) {
		link := filepath.Join(s.dir, "..data")
		require.NoError(t, os.Symlink(version, link+"_tmp"))
		require.NoError(t, os.Rename(link+"_tmp", link))
	}
	return s
}

// TestACertificateReplacedUnderLoadFailsNoRequest replaces it three times
// under load over kept-alive and new connections.
func TestACertificateReplacedUnderLoadFailsNoRequest(t *testing.T) {
	t.Parallel()
	for name, lay := range map[string]func(*testing.T) secret{"swapped as kubelets do": projected, "written over": overwritten} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var versions, cas []string
			for range 4 {
				dir := t.TempDir()
				writePair(t, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "ca.crt"))
				versions, cas = append(versions, dir), append(cas, filepath.Join(dir, "ca.crt"))
			}
			files, roots := lay(t), poolOf(t, cas...)
			files.publish(t, versions[0])
			p := spawn(t, "--cluster-file="+clusterFile(t), "--shutdown-delay-duration=0s",
				"--tls-cert-file="+filepath.Join(files.dir, "tls.crt"), "--tls-private-key-file="+filepath.Join(files.dir, "tls.key"))
			require.Eventually(t, func() bool { return serves(p, poolOf(t, cas[0])) }, waitFor, tick)

			const connections = 4
			d := dialing{roots: roots, address: func() string { return p.serving.text("address") }}
			clients := d.clients(t, connections) // that keep their connections
			d.once = true
			clients = append(clients, d.clients(t, connections)...)
			l := startLoad(t, 100, 2*connections, func(client, n int) error { return rewritten(clients[client], fmt.Sprint("u-", n)) })
			for i := 1; i < len(versions); i++ {
				l.awaitMore(t, 20)
				begun := time.Now()
				files.publish(t, versions[i])
				require.Eventually(t, func() bool { return serves(p, poolOf(t, cas[i])) }, waitFor, tick, "the new certificate is not served")
				t.Logf("certificate %d is served %s after it was written", i, time.Since(begun).Round(time.Millisecond))
			}
			l.awaitMore(t, 20)
			f := l.stop()
			t.Log(f)
			assert.Empty(t, f.failures[:min(3, len(f.failures))])
		})
	}
}

// serves tells whether new connections get a certificate of the CAs.
func serves(p *process, roots *x509.CertPool) bool {
	conn, err := tls.Dial("tcp", p.serving.text("address"), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

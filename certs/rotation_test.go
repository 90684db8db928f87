package certs

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// handshakes makes connections without a pause until stopped; every one must succeed.
func handshakes(t *testing.T, addr string, ca *authority) (done *atomic.Int64, stop func()) {
	t.Helper()
	done, end := &atomic.Int64{}, make(chan struct{})
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if _, err := servedName(addr, ca.pool()); !assert.NoError(t, err, "a handshake failed") {
					return
				}
				done.Add(1)
			}
		})
	}
	return done, func() { close(end); clients.Wait() }
}

func TestRotationFailsNoHandshake(t *testing.T) {
	ca := newAuthority(t, "ca")
	dir := newSecretDir(t)
	dir.write(ca.serving("0"))
	source, _, failed := startedFileSource(t, dir)
	require.Eventually(t, func() bool { return source.Ready() == nil }, patience, testInterval)
	addr := serve(t, ServerConfig(source.GetCertificate, nil, true))
	done, stop := handshakes(t, addr, ca)
	defer stop()

	for i := 1; i <= 5; i++ {
		pair, polls, count := ca.serving(fmt.Sprint(i)), failed.Load()+2, done.Load()+2
		overwrite(t, dir.key, pair.key[:20])
		require.Eventually(t, func() bool { return failed.Load() >= polls && done.Load() >= count }, patience, testInterval)
		require.NoError(t, os.Remove(dir.cert))
		overwrite(t, dir.key, pair.key)
		polls, count = failed.Load()+2, done.Load()+2
		require.Eventually(t, func() bool { return failed.Load() >= polls && done.Load() >= count }, patience, testInterval)
		dir.write(pair)
		eventuallyServes(t, addr, ca, fmt.Sprint(i))
	}
}

// projected lays out a Secret volume as the kubelet does (pkg/volume/util,
// AtomicWriter): files are links through ..data, a link to a folder of the
// moment, which is replaced by a rename.
type projected struct {
	t    *testing.T
	root string
	n    int
}

func (p *projected) publish(pair pemPair) {
	p.t.Helper()
	p.n++
	folder := fmt.Sprintf("..2026_%d", p.n)
	require.NoError(p.t, os.Mkdir(filepath.Join(p.root, folder), 0o755))
	overwrite(p.t, filepath.Join(p.root, folder, "tls.crt"), pair.cert)
	overwrite(p.t, filepath.Join(p.root, folder, "tls.key"), pair.key)
	link := filepath.Join(p.root, "..data")
	old, _ := os.Readlink(link)
	require.NoError(p.t, os.Symlink(folder, link+"_tmp"))
	require.NoError(p.t, os.Rename(link+"_tmp", link))
	if old != "" {
		require.NoError(p.t, os.RemoveAll(filepath.Join(p.root, old)))
	}
}

func TestSecretVolumeIsFollowed(t *testing.T) {
	ca := newAuthority(t, "ca")
	dir := newSecretDir(t)
	volume := &projected{t: t, root: filepath.Dir(dir.cert)}
	volume.publish(ca.serving("0"))
	require.NoError(t, os.Symlink("..data/tls.crt", dir.cert))
	require.NoError(t, os.Symlink("..data/tls.key", dir.key))
	source, _, _ := startedFileSource(t, dir)
	require.Eventually(t, func() bool { return source.Ready() == nil }, patience, testInterval)
	addr := serve(t, ServerConfig(source.GetCertificate, nil, false))
	_, stop := handshakes(t, addr, ca)
	defer stop()
	for i := 1; i <= 5; i++ {
		volume.publish(ca.serving(fmt.Sprint(i)))
		eventuallyServes(t, addr, ca, fmt.Sprint(i))
	}
}

func TestReadinessAndExpiryMayBeAskedDuringReloads(t *testing.T) {
	ca := newAuthority(t, "ca")
	dir := newSecretDir(t)
	dir.write(ca.serving("0"))
	source, lines, _ := startedFileSource(t, dir)
	end := make(chan struct{})
	var askers sync.WaitGroup
	for range 2 {
		askers.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					_ = source.Ready()
					_, _ = source.NotAfter()
					_, _ = source.GetCertificate(&tls.ClientHelloInfo{})
				}
			}
		})
	}
	defer func() { close(end); askers.Wait() }()
	for i := 1; i <= 3; i++ {
		loaded := func() bool { return len(lines.lines(t, "INFO", "loaded")) == i }
		require.Eventually(t, loaded, patience, testInterval)
		dir.write(ca.serving(fmt.Sprint(i)))
	}
}

package certs

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// startedFileSource runs a source over the folder and counts the polls at
// which cert-manager's source failed.
func startedFileSource(t *testing.T, dir secretDir) (*FileSource, *logBuffer, *atomic.Int64) {
	t.Helper()
	log, lines := newLog()
	failed := &atomic.Int64{}
	s := NewFileSource(dir.cert, dir.key, log)
	s.interval = testInterval
	s.sourceLog = funcr.New(func(_, args string) {
		if strings.Contains(args, `"error"=`) {
			failed.Add(1)
		}
	}, funcr.Options{})
	run(t, s.Run)
	return s, lines, failed
}

func eventuallyServes(t *testing.T, addr string, ca *authority, name string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		got, err := servedName(addr, ca.pool())
		require.NoError(c, err)
		assert.Equal(c, name, got)
	}, patience, testInterval)
}

func TestFileSourceKeepsTheLastGoodPair(t *testing.T) {
	ca := newAuthority(t, "ca")
	other := ca.serving("other")
	tests := map[string]struct {
		spoil   func(t *testing.T, dir secretDir, good pemPair)
		failure string
	}{
		"if the key is half written": {
			spoil:   func(t *testing.T, d secretDir, good pemPair) { overwrite(t, d.key, good.key[:len(good.key)/2]) },
			failure: "failed to find any PEM data in key input",
		},
		"if the certificate is half written": {
			spoil:   func(t *testing.T, d secretDir, good pemPair) { overwrite(t, d.cert, good.cert[:len(good.cert)/2]) },
			failure: "failed to find any PEM data in certificate input",
		},
		"if the certificate is another key's": {
			spoil:   func(t *testing.T, d secretDir, _ pemPair) { overwrite(t, d.cert, other.cert) },
			failure: "private key does not match public key",
		},
		"if the key is another certificate's": {
			spoil:   func(t *testing.T, d secretDir, _ pemPair) { overwrite(t, d.key, other.key) },
			failure: "private key does not match public key",
		},
		"if the key is empty": {
			spoil:   func(t *testing.T, d secretDir, _ pemPair) { overwrite(t, d.key, nil) },
			failure: "tls.key is empty",
		},
		"if the certificate is empty": {
			spoil:   func(t *testing.T, d secretDir, _ pemPair) { overwrite(t, d.cert, nil) },
			failure: "tls.crt is empty",
		},
		"if the key is gone": {
			spoil:   func(t *testing.T, d secretDir, _ pemPair) { require.NoError(t, os.Remove(d.key)) },
			failure: "tls.key: no such file or directory",
		},
		"if the certificate is gone": {
			spoil:   func(t *testing.T, d secretDir, _ pemPair) { require.NoError(t, os.Remove(d.cert)) },
			failure: "tls.crt: no such file or directory",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := newSecretDir(t)
			good := ca.serving("first")
			dir.write(good)
			source, lines, failed := startedFileSource(t, dir)
			addr := serve(t, ServerConfig(source.GetCertificate, nil, false))
			require.Eventually(t, func() bool { return source.Ready() == nil }, patience, testInterval)

			tc.spoil(t, dir, good)
			logged := func() bool { return len(lines.lines(t, "ERROR", tc.failure)) > 0 }
			require.Eventually(t, logged, patience, testInterval)
			polls := failed.Load() + 5
			require.Eventually(t, func() bool { return failed.Load() >= polls }, patience, testInterval)
			got, err := servedName(addr, ca.pool())
			require.NoError(t, err)
			assert.Equal(t, "first", got)
			assert.NoError(t, source.Ready(), "the pair in use is good")
			assert.Len(t, lines.lines(t, "ERROR", tc.failure), 1, "one reason is logged once")

			dir.write(ca.serving("second"))
			eventuallyServes(t, addr, ca, "second")
		})
	}
}

func overwrite(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func TestFileSourceBecomesReadyByItself(t *testing.T) {
	ca := newAuthority(t, "ca")
	dir := newSecretDir(t)
	source, _, failed := startedFileSource(t, dir)
	require.ErrorContains(t, source.Ready(), dir.cert+": no such file or directory")
	_, err := source.GetCertificate(nil)
	require.Error(t, err)
	_, known := source.NotAfter()
	require.False(t, known)

	require.Eventually(t, func() bool { return failed.Load() > 15 }, patience, testInterval, "it gave up")
	pair := ca.serving("late")
	overwrite(t, dir.cert, pair.cert)
	require.ErrorContains(t, source.Ready(), dir.key+": no such file or directory")
	overwrite(t, dir.key, ca.serving("other").key)
	require.ErrorContains(t, source.Ready(), "private key does not match public key")
	require.ErrorContains(t, source.Ready(), dir.cert)

	dir.write(pair)
	require.Eventually(t, func() bool { return source.Ready() == nil }, patience, testInterval)
	expires, known := source.NotAfter()
	assert.True(t, known)
	assert.Equal(t, pair.load(t).Leaf.NotAfter, expires)
}

func TestFileSourceIsNotReadyBeforeItRuns(t *testing.T) {
	dir := newSecretDir(t)
	dir.write(newAuthority(t, "ca").serving("x"))
	log, _ := newLog()
	assert.EqualError(t, NewFileSource(dir.cert, dir.key, log).Ready(), "the serving certificate is not loaded yet")
}

func TestFileSourceLogsEachChangeOnce(t *testing.T) {
	ca := newAuthority(t, "ca")
	dir := newSecretDir(t)
	dir.write(ca.serving("0"))
	_, lines, failed := startedFileSource(t, dir)
	for i := 1; i <= 3; i++ {
		loaded := func() bool { return len(lines.lines(t, "INFO", "serving certificate loaded")) == i }
		require.Eventually(t, loaded, patience, testInterval)
		require.NoError(t, os.Remove(dir.key))
		gone := func() bool { return len(lines.lines(t, "ERROR", "tls.key: no such file")) == i }
		require.Eventually(t, gone, patience, testInterval, "a reason is logged again after things were well")
		polls := failed.Load() + 3
		require.Eventually(t, func() bool { return failed.Load() >= polls }, patience, testInterval)
		require.True(t, loaded(), "nothing new was loaded")
		dir.write(ca.serving(fmt.Sprint(i)))
	}
	for _, line := range lines.lines(t, "INFO", dir.cert) {
		assert.Contains(t, line, `"notAfter":"`)
	}
}

func TestFileSourceReadinessFollowsValidity(t *testing.T) {
	ca, now := newAuthority(t, "ca"), time.Now().Truncate(time.Second)
	tests := map[string]struct {
		notBefore, notAfter time.Time
		problem             string
	}{
		"if it is valid, ready": {notBefore: now.Add(-time.Hour), notAfter: now.Add(time.Hour)},
		"if it has expired, not ready": {
			notBefore: now.Add(-2 * time.Hour), notAfter: now.Add(-time.Hour),
			problem: "the serving certificate expired at " + now.Add(-time.Hour).UTC().Format(time.RFC3339),
		},
		"if it is not valid yet, not ready": {
			notBefore: now.Add(time.Hour), notAfter: now.Add(2 * time.Hour),
			problem: "the serving certificate is not valid before " + now.Add(time.Hour).UTC().Format(time.RFC3339),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := newSecretDir(t)
			dir.write(ca.issue(servingTemplate("x", tc.notBefore, tc.notAfter)))
			source, _, _ := startedFileSource(t, dir)
			loaded := func() bool { _, ok := source.NotAfter(); return ok }
			require.Eventually(t, loaded, patience, testInterval)
			if tc.problem == "" {
				require.NoError(t, source.Ready())
			} else {
				require.EqualError(t, source.Ready(), tc.problem)
			}
			dir.write(ca.serving("renewed"))
			require.Eventually(t, func() bool { return source.Ready() == nil }, patience, testInterval)
		})
	}
}

//go:build e2e

package e2e

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A CA with a new key is no renewal: nothing that the old one has signed can be
// verified by it. cert-manager adds the new CA to what the API server trusts and leaves
// the old one there, so calls may fail only if the serving certificate, which comes
// from the new CA, reaches Berth's pods before that.
func TestAfterTheCAGetsANewKeyCallsFailOnlyUntilTheNextServingCertificateReachesBerth(t *testing.T) {
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	replicas := n.berthPods()
	var failures, successes atomic.Int64
	n.probe(&successes, &failures)
	require.Eventually(t, func() bool { return successes.Load() > 20 }, patience, interval, "no call succeeds")

	old := n.must("-n", "berth-system", "get", "secret", "berth-ca", "-o", `jsonpath={.data.tls\.key}`)
	n.must("-n", "berth-system", "delete", "secret", "berth-ca")
	require.Eventually(t, func() bool {
		now, err := n.kubectl("", "-n", "berth-system", "get", "secret", "berth-ca", "-o", `jsonpath={.data.tls\.key}`)
		return err == nil && now != "" && now != old
	}, patience, interval, "cert-manager makes no new CA")
	n.must("-n", "berth-system", "wait", "--for=condition=Ready", "certificate/berth-ca", "--timeout=2m")
	at := successes.Load()
	require.Eventually(t, func() bool { return successes.Load() > at+20 }, patience, interval, "no call succeeds")
	assert.Zero(t, failures.Load(), "calls fail although Berth's certificate is as it was")

	began := time.Now()
	n.renew("berth-serving")
	at = successes.Load()
	require.Eventually(t, func() bool { return successes.Load() > at+20 }, patience, interval, "calls go on failing")
	t.Logf("%d calls failed within the %.0f s until both replicas served the new CA's certificate", failures.Load(), time.Since(began).Seconds())
	at = failures.Load()
	good := successes.Load()
	require.Eventually(t, func() bool { return successes.Load() > good+50 }, patience, interval)
	assert.Equal(t, at, failures.Load(), "calls fail although both replicas serve the new CA's certificate")
	for i, pod := range n.berthPods() {
		assert.Equal(t, replicas[i].UID, pod.UID)
		assert.Zero(t, pod.Status.ContainerStatuses[0].RestartCount)
	}
}

// probe asks for a pod, as a dry run, ten times a second until the test ends, and
// counts what becomes of it. A call may fail for want of trust only.
func (n *namespace) probe(successes, failures *atomic.Int64) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	n.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			err := n.askForPod()
			if err == nil {
				successes.Add(1)
			} else {
				failures.Add(1)
				assert.ErrorContains(n.t, err, "x509: certificate signed by unknown authority")
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
}

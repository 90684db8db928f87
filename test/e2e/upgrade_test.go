//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.dev/berth/test/e2e/cluster"
)

const nextVersion = "v0.1.1"

func TestBerthIsUpgradedAndRolledBackUnderLoadWithoutAFailedCall(t *testing.T) {
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.apply(daemonSet(reader("model-cache")))
	before := n.awaitPods(2)
	require.NoError(t, n.cluster.ImportBerth(t.Context(), nextVersion))
	shipped, err := os.ReadFile(filepath.Join(n.cluster.Root, "deploy", "berth.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(shipped), "image: ghcr.io/berth-dev/berth:"+cluster.BerthVersion+"\n")
	t.Cleanup(func() { require.NoError(t, n.cluster.InstallBerth(context.Background())) })

	stop := n.load()
	n.install(strings.ReplaceAll(string(shipped), cluster.BerthVersion, nextVersion), nextVersion)
	n.install(string(shipped), cluster.BerthVersion)
	calls, failures := stop()
	t.Logf("%d calls", calls)
	assert.Empty(t, failures)
	assert.Greater(t, calls, 100)
	for i, pod := range n.awaitPods(2) {
		assert.Equal(t, before[i].UID, pod.UID)
		assert.Zero(t, pod.Status.ContainerStatuses[0].RestartCount)
		n.assertReadOn(pod, pod.Spec.NodeName)
	}
}

// install applies a berth.yaml, and returns once its replicas answer and those that
// were there before are gone.
func (n *namespace) install(yaml, version string) {
	n.t.Helper()
	out, err := n.kubectl(yaml, "-n", "", "apply", "-f", "-")
	require.NoError(n.t, err, out)
	n.must("-n", "berth-system", "rollout", "status", "deployment/berth", "--timeout=2m")
	require.Eventually(n.t, func() bool {
		list, err := n.client.CoreV1().Pods("berth-system").List(n.t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 2
	}, patience, interval, "the old replicas stay")
	for _, pod := range n.berthPods() {
		text, err := n.client.CoreV1().Pods("berth-system").ProxyGet("http", pod.Name, "8080", "/metrics", nil).DoRaw(n.t.Context())
		require.NoError(n.t, err)
		require.Regexp(n.t, `(?m)^berth_build_info\{[^}]*version="`+version+`"[^}]*\} 1$`, string(text), "pod %s", pod.Name)
	}
}

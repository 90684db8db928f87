//go:build e2e

package e2e

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestApplyingAWorkloadTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	objects := deployment(1, onHost(reader("model-cache"), "node-a"))
	n.apply(daemonSet(reader("model-cache")), objects)
	out := n.apply(daemonSet(reader("model-cache")), objects)
	assert.Contains(t, out, "daemonset.apps/reader unchanged")
	assert.Contains(t, out, "deployment.apps/reader unchanged")
}

func TestADryRunAnswersTheSameAndCreatesNothing(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	for name, template := range map[string]func() string{
		"pinned":   func() string { return manifest(t, pod("dry", onHost(reader("model-cache"), "node-a"))) },
		"unpinned": func() string { return manifest(t, pod("dry", reader("model-cache"))) },
	} {
		out, err := n.kubectl(template(), "apply", "--dry-run=server", "-o", "yaml", "-f", "-")
		if name == "pinned" {
			require.NoError(t, err, out)
			assert.Contains(t, out, "claimName: model-cache-node-a")
		} else {
			require.Error(t, err, out)
			assert.Contains(t, out, advice)
		}
	}
	assert.Empty(t, n.pods())
}

func TestAPinnedDeploymentScalesAndRestartsOnItsNodesBytes(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.apply(deployment(1, onHost(reader("model-cache"), "node-b")))
	n.awaitPods(1)
	n.must("scale", "deployment/reader", "--replicas=2")
	n.awaitPods(2)
	n.must("rollout", "restart", "deployment/reader")
	n.must("rollout", "status", "deployment/reader", "--timeout=2m")
	for _, pod := range n.awaitPods(2) {
		n.assertReadOn(pod, "node-b")
	}
}

func TestAnUnpinnedDeploymentFromBeforeTheOptInScalesAndCanBeDeletedInTheForeground(t *testing.T) {
	t.Parallel()
	n := newNamespaceLabelled(t, nil)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.apply(deployment(1, reader("model-cache")))
	require.Eventually(t, func() bool { return len(n.pods()) == 1 }, patience, interval)
	n.must("label", "namespace", n.name, optIn+"=enabled")
	n.must("scale", "deployment/reader", "--replicas=2")
	n.must("annotate", "deployment/reader", "note=changed")
	// Its template may change, too, as long as it brings no new fault.
	n.must("set", "env", "deployment/reader", "CHANGED=yes")
	n.must("delete", "deployment/reader", "--cascade=foreground", "--timeout=2m")
	require.Eventually(t, func() bool { return len(n.pods()) == 0 }, patience, interval, "pods stay")
}

func TestKubectlDebugAddsAContainerToARewrittenPod(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.apply(pod("reader", onHost(reader("model-cache"), "node-a")))
	n.awaitReady("reader")
	image := n.pod("reader").Spec.Containers[0].Image
	n.must("debug", "reader", "--image="+image, "--container=debugger", "--attach=false", "--quiet", "--", "/app", "pause")
	require.Eventually(t, func() bool {
		statuses := n.pod("reader").Status.EphemeralContainerStatuses
		return len(statuses) == 1 && statuses[0].State.Running != nil
	}, patience, interval, "the ephemeral container does not run")
}

func TestAPodCreatedRightAfterItsPVCIsNeverRefusedForAStaleCache(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	for i := range 200 {
		claim := "fresh-" + strconv.Itoa(i)
		n.created(nodePVC(claim, "node-a"))
		made, err := n.client.CoreV1().Pods(n.name).Create(t.Context(), pod("reader-"+strconv.Itoa(i), onHost(reader(claim), "node-a")), metav1.CreateOptions{})
		require.NoError(t, err, "pod %d", i)
		require.Equal(t, claim+"-node-a", mounted(made, "cache"), "pod %d", i)
	}
}

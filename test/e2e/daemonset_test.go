//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestEachPodOfADaemonSetReadsItsOwnNodesBytes(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.apply(daemonSet(reader("model-cache")))
	n.assertEachReadsItsOwn(n.awaitPods(2))
}

func TestARollingUpdateOfADaemonSetKeepsEachPodToItsNodesBytes(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.apply(daemonSet(reader("model-cache")))
	before := n.awaitPods(2)
	n.must("rollout", "restart", "daemonset/reader")
	n.must("rollout", "status", "daemonset/reader", "--timeout=2m")
	after := n.awaitPods(2)
	for i := range after {
		assert.NotEqual(t, before[i].UID, after[i].UID, "the pod of %s was not replaced", after[i].Spec.NodeName)
	}
	n.assertEachReadsItsOwn(after)
}

func TestAPodWhoseNodeHasNoPVCYetWaitsAndDoesNotStopItsSiblings(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.apply(daemonSet(reader("model-cache")))
	var waiting string
	require.Eventually(t, func() bool {
		running := 0
		for _, pod := range n.pods() {
			if ready(&pod) {
				running++
			} else if mounted(&pod, "cache") == "model-cache-node-b" {
				waiting = pod.Name
			}
		}
		return running == 1 && waiting != ""
	}, patience, interval, "node-a's pod does not run, or node-b's is not there")
	assert.Equal(t, corev1.PodPending, n.pod(waiting).Status.Phase)

	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	bound := time.Now()
	n.awaitReady(waiting)
	assert.Less(t, time.Since(bound), 10*time.Second, "the waiting pod took too long after its PVC was bound")
	n.assertEachReadsItsOwn(n.awaitPods(2))
}

func TestTheDaemonSetsPodOnAJoiningNodeRunsWithin10SecondsOfItsPVCBeingBound(t *testing.T) {
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.apply(daemonSet(reader("model-cache")))
	n.awaitPods(2)

	n.join("node-c")
	var waiting string
	require.Eventually(t, func() bool {
		for _, pod := range n.pods() {
			if mounted(&pod, "cache") == "model-cache-node-c" {
				waiting = pod.Name
			}
		}
		return waiting != ""
	}, patience, interval, "the joining node gets no pod")
	assert.Equal(t, corev1.PodPending, n.pod(waiting).Status.Phase)

	n.nodePVC("model-cache", "node-c", "the bytes of node-c")
	bound := time.Now()
	n.awaitReady(waiting)
	assert.Less(t, time.Since(bound), 10*time.Second, "the waiting pod took too long after its PVC was bound")
	n.assertEachReadsItsOwn(n.awaitPods(3))
}

// join adds a node for the time of the test.
func (n *namespace) join(node string) {
	n.t.Helper()
	n.t.Cleanup(func() { require.NoError(n.t, n.cluster.RemoveNode(context.Background(), node)) })
	require.NoError(n.t, n.cluster.StartNode(n.t.Context(), node))
}

func (n *namespace) assertEachReadsItsOwn(pods []corev1.Pod) {
	n.t.Helper()
	nodes := map[string]bool{}
	for _, pod := range pods {
		node := pod.Spec.NodeName
		nodes[node] = true
		assert.Equal(n.t, "the bytes of "+node, n.read(pod.Name), "pod %s on %s", pod.Name, node)
		assert.Equal(n.t, "model-cache-"+node, mounted(&pod, "cache"))
		assert.Equal(n.t, "model-cache=model-cache-"+node, pod.Annotations["berth.dev/node-pvcs"])
	}
	assert.Len(n.t, nodes, len(pods), "two pods share a node")
}

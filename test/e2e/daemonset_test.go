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
	n.awaitReady(waiting) // how soon is another test's, which runs alone
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
	n.awaitReadySoon(waiting, time.Now())
	n.assertEachReadsItsOwn(n.awaitPods(3))
}

// join adds a node for the time of the test.
func (n *namespace) join(node string) {
	n.t.Helper()
	n.t.Cleanup(func() { require.NoError(n.t, n.cluster.RemoveNode(context.Background(), node)) })
	require.NoError(n.t, n.cluster.StartNode(n.t.Context(), node))
}

// kubeletRetry is how long a kubelet waits at most before it tries a pod's volumes again:
// backOffPeriod (pkg/kubelet/kubelet.go) and its jitter (pkg/kubelet/pod_workers.go).
const kubeletRetry = 15 * time.Second

// awaitReadySoon waits for a pod whose PVC was bound at a time: it is assigned within 10
// seconds and, unless its kubelet was too early, runs within the same 10.
func (n *namespace) awaitReadySoon(name string, bound time.Time) {
	n.t.Helper()
	pod := n.awaitReady(name)
	took, limit := time.Since(bound), 10*time.Second
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			assert.Less(n.t, condition.LastTransitionTime.Sub(bound), limit, "the waiting pod was assigned too late after its PVC was bound")
		}
	}
	if n.kubeletTooEarly(name) {
		n.t.Logf("the kubelet asked for the PVC before it might; the pod ran after %.0f s", took.Seconds())
		limit += kubeletRetry
	}
	assert.Less(n.t, took, limit, "the waiting pod took too long after its PVC was bound")
}

// kubeletTooEarly tells whether the kubelet saw the pod's assignment before the node
// authorizer did, and so was not let read the PVC (plugin/pkg/auth/authorizer/node).
func (n *namespace) kubeletTooEarly(pod string) bool {
	return n.hasEvent("reason=FailedMount,involvedObject.name="+pod, "no relationship found between node")
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

//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
)

// advice is what every refusal for want of a pin ends with.
const advice = "nodeSelector kubernetes.io/hostname. Nodes that hold this claim: node-a."

func TestAnUnpinnedWorkloadIsRefusedAtKubectlApplyWithTheGuidanceInItsOutput(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	unpinned := func() corev1.PodTemplateSpec { return reader("model-cache") }
	for kind, object := range workloads(unpinned) {
		out := n.refused(object)
		assert.Contains(t, out, `mounts node-local claim "model-cache" (volume "cache")`, kind)
		if kind != "StatefulSet" { // its own volumes could pin it, so its advice is longer
			assert.Contains(t, out, advice, kind)
		}
		assert.Contains(t, out, kind+` "reader"`, kind)
		assert.Contains(t, out, "denied the request", kind)
	}
	got := n.must("get", "pods,deployments,replicasets,replicationcontrollers,statefulsets,jobs,cronjobs")
	assert.Contains(t, got, "No resources found")
}

func TestAPinnedWorkloadOfAnyKindRunsOnItsNodesBytes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job", "Pod"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			n := newNamespace(t)
			n.nodePVC("model-cache", "node-a", "the bytes of node-a")
			n.nodePVC("model-cache", "node-b", "the bytes of node-b")
			if kind == "StatefulSet" {
				n.pvc("own-reader-0", "node-b", "")
			}
			n.apply(workloads(func() corev1.PodTemplateSpec { return onHost(reader("model-cache"), "node-b") })[kind])
			if kind == "Job" {
				n.assertReadOn(n.awaitEnd("reader"), "node-b")
				return
			}
			n.assertReadOn(n.awaitPods(1)[0], "node-b")
		})
	}
}

func TestAPinnedCronJobsPodsRunOnItsNodesBytes(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.apply(cronJob(onHost(reader("model-cache"), "node-a")))
	n.must("create", "job", "now", "--from=cronjob/reader")
	n.assertReadOn(n.awaitEnd("now"), "node-a")
}

func TestAStatefulSetReadsTheBytesOfTheNodesThatItsOwnVolumesTieItTo(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	out := n.refused(statefulSet(2, reader("model-cache")))
	assert.Contains(t, out, `StatefulSet "reader" mounts node-local claim "model-cache"`)

	n.pvc("own-reader-0", "node-b", "")
	n.pvc("own-reader-1", "node-a", "")
	n.apply(statefulSet(2, reader("model-cache")))
	n.awaitPods(2)
	n.assertReadOn(*n.pod("reader-0"), "node-b")
	n.assertReadOn(*n.pod("reader-1"), "node-a")
}

func TestARefusedPodOfAReplicaSetIsTold(t *testing.T) {
	t.Parallel()
	n := newNamespaceLabelled(t, nil)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.apply(replicaSet(reader("model-cache")))
	n.must("label", "namespace", n.name, optIn+"=enabled")
	n.must("delete", "pods", "--all", "--wait=false")
	n.awaitEvent("FailedCreate", advice)
}

// assertReadOn asserts that the pod ran on the node and read its bytes.
func (n *namespace) assertReadOn(pod corev1.Pod, node string) {
	n.t.Helper()
	assert.Equal(n.t, node, pod.Spec.NodeName)
	assert.Equal(n.t, "the bytes of "+node, n.read(pod.Name))
}

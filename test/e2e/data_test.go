//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const selectedNode = "volume.kubernetes.io/selected-node"

func TestAPodThatFillsRunsBeforeThePVCIsFilledAndReadersAreRefusedUntilThen(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "")
	n.must("annotate", "pvc", "model-cache-node-a", "berth.dev/populated=false")
	out := n.refused(pod("early", onHost(reader("model-cache"), "node-a")))
	assert.Contains(t, out, `node "node-a"'s PVC "model-cache-node-a" is not filled yet`)

	filler := job("fill", onHost(reader("model-cache"), "node-a"))
	filler.Spec.Template.Annotations = map[string]string{"berth.dev/fills": "model-cache"}
	filler.Spec.Template.Spec.Containers[0].Args = []string{"write", "/data/note", "the bytes of node-a"}
	n.apply(filler)
	n.awaitEnd("fill")
	n.must("annotate", "pvc", "model-cache-node-a", "berth.dev/populated=true", "--overwrite")
	n.apply(pod("late", onHost(reader("model-cache"), "node-a")))
	n.assertReadOn(*n.awaitReady("late"), "node-a")
}

func TestAPodAsksForARevisionAndReadsIt(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	for revision, text := range map[string]string{"1": "revision 1", "2": "revision 2"} {
		name := "model-cache-" + revision
		pvc := nodePVC("model-cache", "node-a")
		pvc.Name = name
		pvc.Labels["berth.dev/revision"] = revision
		pvc.Spec.VolumeName = n.localVolume("node-a", name, text).Name
		n.bound(pvc)
	}
	template := onHost(reader("model-cache"), "node-a")
	template.Annotations = map[string]string{"berth.dev/revision": "1"}
	n.apply(pod("asks", template))
	assert.Equal(t, "revision 1", n.read(n.awaitReady("asks").Name))
}

func TestANodePVCOfAWaitingClassGetsItsNodeSelectedBeforeAnyPod(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	pvc := nodePVC("model-cache", "node-b")
	pvc.Spec.StorageClassName = new(waitingClass)
	n.apply(pvc)
	assert.Equal(t, "node-b", n.annotationOf(pvc.Name, selectedNode))
}

func TestANodePVCWithoutAProvisionerIsLeftToTheScheduler(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.apply(nodePVC("model-cache", "node-b"))
	assert.Empty(t, n.annotationOf("model-cache-node-b", selectedNode))
	// A volume comes, and the first pod binds it where Berth has resolved.
	pv := n.localVolume("node-b", "model-cache-node-b", "the bytes of node-b")
	assert.NotNil(t, pv)
	n.apply(pod("reader", onHost(reader("model-cache"), "node-b")))
	n.assertReadOn(*n.awaitReady("reader"), "node-b")
}

func TestNodeNameWithAPVCThatWaitsForTheSchedulerIsRefusedAndTheAdvisedSelectorWorks(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.created(nodePVC("model-cache", "node-a"))
	n.localVolume("node-a", "other", "not this one")
	template := reader("model-cache")
	template.Spec.NodeName = "node-a"
	out := n.refused(pod("reader", template))
	assert.Contains(t, out, "Replace spec.nodeName by the nodeSelector kubernetes.io/hostname.")

	n.apply(pod("reader", onHost(reader("model-cache"), "node-a")))
	n.localVolume("node-a", "model-cache-node-a", "the bytes of node-a")
	n.assertReadOn(*n.awaitReady("reader"), "node-a")
}

func TestPodsPinnedByNodeNameSelectorOrFieldReadTheirNodesBytes(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	for _, node := range []string{"node-a", "node-b"} {
		named := reader("model-cache")
		named.Spec.NodeName = node
		field := reader("model-cache")
		field.Spec.Affinity = requiredNode(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
		}}})
		n.apply(pod("named-"+node, named), pod("field-"+node, field), pod("selector-"+node, onHost(reader("model-cache"), node)),
			job("job-"+node, onHost(reader("model-cache"), node)))
		for _, name := range []string{"named-", "field-", "selector-"} {
			n.assertReadOn(*n.awaitReady(name + node), node)
		}
		n.assertReadOn(n.awaitEnd("job-"+node), node)
	}
}

func requiredNode(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
}

func (n *namespace) annotationOf(pvc, key string) string {
	n.t.Helper()
	got, err := n.client.CoreV1().PersistentVolumeClaims(n.name).Get(n.t.Context(), pvc, metav1.GetOptions{})
	assert.NoError(n.t, err)
	return got.Annotations[key]
}

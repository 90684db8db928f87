//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The names of the PVCs here can't be predicted, so Berth refuses instead of letting
// the pod wait; under --missing-node-pvc=deny it always does.
func TestWhileADaemonSetsPodIsRefusedNoPodOfItIsRolledAndAllAreOnceTheNodeHasItsPVC(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.unpredictablePVC("node-a")
	n.apply(daemonSet(reader("model-cache")))
	before := n.awaitPods(1)[0]
	n.awaitEvent("FailedCreate", `node "node-b" has no PVC for it`)

	n.must("rollout", "restart", "daemonset/reader")
	require.Eventually(t, func() bool {
		set, err := n.client.AppsV1().DaemonSets(n.name).Get(t.Context(), "reader", metav1.GetOptions{})
		require.NoError(t, err)
		// The controller says so at the end of a round: this one has rolled nothing.
		return set.Status.ObservedGeneration == set.Generation && set.Generation > 1
	}, patience, interval, "the controller does not look at the new template")
	still := n.awaitPods(1)[0]
	assert.Equal(t, before.UID, still.UID, "a pod was rolled")

	n.unpredictablePVC("node-b")
	n.must("annotate", "daemonset/reader", "e2e/pvc=created") // ends the controller's back-off
	n.must("rollout", "status", "daemonset/reader", "--timeout=2m")
	for _, pod := range n.awaitPods(2) {
		assert.NotEqual(t, before.UID, pod.UID)
		n.assertReadOn(pod, pod.Spec.NodeName)
	}
}

// unpredictablePVC makes a bound node PVC with a name that the template doesn't give.
func (n *namespace) unpredictablePVC(node string) {
	n.t.Helper()
	name := "weights-of-" + node
	pvc := nodePVC("model-cache", node)
	pvc.Name, pvc.Spec.VolumeName = name, n.localVolume(node, name, "the bytes of "+node).Name
	n.bound(pvc)
}

func (n *namespace) awaitEvent(reason, message string) {
	n.t.Helper()
	require.Eventually(n.t, func() bool { return n.hasEvent("reason="+reason, message) }, patience, interval, "no event %s says %s", reason, message)
}

// hasEvent tells whether one of the events that a field selector selects says so.
func (n *namespace) hasEvent(fields, message string) bool {
	n.t.Helper()
	events, err := n.client.CoreV1().Events(n.name).List(n.t.Context(), metav1.ListOptions{FieldSelector: fields})
	require.NoError(n.t, err)
	return slices.ContainsFunc(events.Items, func(event corev1.Event) bool { return strings.Contains(event.Message, message) })
}

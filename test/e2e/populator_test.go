//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const thankYous = "thankyous.artisanal.populators.com"

// thankYouDefinition is the kind that a PVC's dataSourceRef names.
const thankYouDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ` + thankYous + `}
spec:
  group: artisanal.populators.com
  scope: Namespaced
  names: {kind: ThankYou, plural: thankyous, singular: thankyou}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {note: {type: string}}}
`

const thankYou = `apiVersion: artisanal.populators.com/v1
kind: ThankYou
metadata: {name: note}
spec: {note: "the bytes of node-a"}
`

func TestAPodFromBeforeThePopulatorsRebindWaitsAndThenReadsTheNote(t *testing.T) {
	t.Parallel()
	n, elsewhere := newNamespace(t), newNamespaceLabelled(t, nil)
	n.defineThankYou()
	target := nodePVC("model-cache", "node-a")
	target.Spec.DataSourceRef = &corev1.TypedObjectReference{APIGroup: new("artisanal.populators.com"), Kind: "ThankYou", Name: "note"}
	n.apply(target)
	n.apply(pod("early", onHost(reader("model-cache"), "node-a")))
	assert.Equal(t, "model-cache-node-a", mounted(n.pod("early"), "cache"))

	// The populator: a PVC of its own, and a pod that writes what the ThankYou says.
	elsewhere.pvc("prime", "node-a", "")
	note := n.must("get", "thankyou", "note", "-o", "jsonpath={.spec.note}")
	filler := job("populate", reader("prime"))
	filler.Spec.Template.Spec.Containers[0].Args = []string{"write", "/data/note", note}
	elsewhere.apply(filler)
	elsewhere.awaitEnd("populate")
	assert.Equal(t, corev1.ClaimPending, n.phase("model-cache-node-a"))
	assert.Equal(t, corev1.PodPending, n.pod("early").Status.Phase)

	n.rebind(elsewhere.name+"-prime", "model-cache-node-a")
	require.Eventually(t, func() bool {
		return n.phase("model-cache-node-a") == corev1.ClaimBound && elsewhere.phase("prime") == corev1.ClaimLost
	}, patience, interval, "the volume was not handed over")
	n.assertReadOn(*n.awaitReady("early"), "node-a")
	n.apply(pod("late", onHost(reader("model-cache"), "node-a")))
	n.assertReadOn(*n.awaitReady("late"), "node-a")
}

// defineThankYou defines the kind, for the time of the test, and makes one.
func (n *namespace) defineThankYou() {
	n.t.Helper()
	out, err := n.kubectl(thankYouDefinition, "apply", "-f", "-")
	require.NoError(n.t, err, out)
	n.t.Cleanup(func() { n.must("delete", "crd", thankYous) })
	n.must("wait", "--for=condition=Established", "--timeout=60s", "crd", thankYous)
	require.Eventually(n.t, func() bool {
		out, err = n.kubectl(thankYou, "apply", "-f", "-")
		return err == nil
	}, patience, interval, "the kind is not served")
}

// rebind hands a volume over to a PVC of the namespace, as populators do.
func (n *namespace) rebind(volume, claim string) {
	n.t.Helper()
	pvc, err := n.client.CoreV1().PersistentVolumeClaims(n.name).Get(n.t.Context(), claim, metav1.GetOptions{})
	require.NoError(n.t, err)
	patch := fmt.Sprintf(`{"spec":{"claimRef":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":null}}}`, n.name, claim, pvc.UID)
	_, err = n.client.CoreV1().PersistentVolumes().Patch(context.Background(), volume, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(n.t, err)
}

func (n *namespace) phase(pvc string) corev1.PersistentVolumeClaimPhase {
	n.t.Helper()
	got, err := n.client.CoreV1().PersistentVolumeClaims(n.name).Get(n.t.Context(), pvc, metav1.GetOptions{})
	require.NoError(n.t, err)
	return got.Status.Phase
}

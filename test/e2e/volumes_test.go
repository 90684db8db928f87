//go:build e2e

package e2e

import (
	"context"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// localVolume makes a directory of a node with one file, and a PV of it that is
// reserved for one PVC.
func (n *namespace) localVolume(node, claimName, text string) *corev1.PersistentVolume {
	n.t.Helper()
	name := n.name + "-" + claimName
	return n.volume(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:              localClass,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				Local: &corev1.LocalVolumeSource{Path: n.directory(node, claimName, text)},
			},
			ClaimRef:     &corev1.ObjectReference{Namespace: n.name, Name: claimName},
			NodeAffinity: onlyHost(node),
		},
	})
}

// onlyHost ties a volume to a node by its hostname, as local volumes are.
func onlyHost(node string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{hostnameOf(node)},
		}}}},
	}}
}

// volume makes a PV for the time of the test.
func (n *namespace) volume(pv *corev1.PersistentVolume) *corev1.PersistentVolume {
	n.t.Helper()
	made, err := n.client.CoreV1().PersistentVolumes().Create(n.t.Context(), pv, metav1.CreateOptions{})
	require.NoError(n.t, err)
	n.t.Cleanup(func() {
		err := n.client.CoreV1().PersistentVolumes().Delete(context.Background(), pv.Name, metav1.DeleteOptions{})
		assert.NoError(n.t, err)
	})
	return made
}

// nodePVC makes a node PVC that is bound to a directory of its node with the text.
func (n *namespace) nodePVC(claim, node, text string) *corev1.PersistentVolumeClaim {
	n.t.Helper()
	pv := n.localVolume(node, claim+"-"+node, text)
	pvc := nodePVC(claim, node)
	pvc.Spec.VolumeName = pv.Name
	return n.bound(pvc)
}

// pvc makes a bound PVC that is no node PVC.
func (n *namespace) pvc(name, node, text string) *corev1.PersistentVolumeClaim {
	n.t.Helper()
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: nodePVC("", "").Spec}
	pvc.Spec.VolumeName = n.localVolume(node, name, text).Name
	return n.bound(pvc)
}

func (n *namespace) bound(pvc *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	n.t.Helper()
	made := n.created(pvc)
	require.Eventually(n.t, func() bool {
		got, err := n.client.CoreV1().PersistentVolumeClaims(n.name).Get(n.t.Context(), made.Name, metav1.GetOptions{})
		return err == nil && got.Status.Phase == corev1.ClaimBound
	}, patience, interval, "PVC %s is not bound", made.Name)
	return made
}

func (n *namespace) created(pvc *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	n.t.Helper()
	made, err := n.client.CoreV1().PersistentVolumeClaims(n.name).Create(n.t.Context(), pvc, metav1.CreateOptions{})
	require.NoError(n.t, err)
	return made
}

// nodePVC is a node PVC of the local class, not bound to anything.
func nodePVC(claim, node string) *corev1.PersistentVolumeClaim {
	class := localClass
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:   strings.Trim(claim+"-"+node, "-"),
			Labels: map[string]string{"berth.dev/claim": claim, "berth.dev/node": node},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

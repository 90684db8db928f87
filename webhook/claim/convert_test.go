package claim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.dev/berth/webhook/claim"
)

func TestNewPVC(t *testing.T) {
	long := strings.Repeat("n", 70) + ".example"
	class, now := "fast", metav1.Unix(1700000000, 0)
	keys, gkm := claim.DefaultRules().Keys, claim.GKMRules().Keys
	meta := func(labels, annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ml", Name: "x", Labels: labels, Annotations: annotations}
	}
	for what, c := range map[string]struct {
		in   corev1.PersistentVolumeClaim
		keys *claim.Keys
		want claim.PVC
	}{
		"if labels name claim and node, it is a node PVC": {
			in:   corev1.PersistentVolumeClaim{ObjectMeta: meta(map[string]string{"berth.dev/claim": "m", "berth.dev/node": "n", "berth.dev/revision": "r"}, nil)},
			want: claim.PVC{Claim: "m", Node: "n", Revision: "r"},
		},
		"if an annotation names the node too, it wins over a truncated label": {
			in:   corev1.PersistentVolumeClaim{ObjectMeta: meta(map[string]string{"berth.dev/claim": "m", "berth.dev/node": long[:63]}, map[string]string{"berth.dev/node": long})},
			want: claim.PVC{Claim: "m", Node: long},
		},
		"if the annotation is empty, it is no node PVC": {
			in:   corev1.PersistentVolumeClaim{ObjectMeta: meta(map[string]string{"berth.dev/claim": "m", "berth.dev/node": "n"}, map[string]string{"berth.dev/node": ""})},
			want: claim.PVC{Claim: "m"},
		},
		"if the populated key is there, its value is read": {
			in:   corev1.PersistentVolumeClaim{ObjectMeta: meta(nil, map[string]string{"berth.dev/populated": ""})},
			want: claim.PVC{HasPopulated: true},
		},
		"if keys are GPU Kernel Manager's, they are read": {
			keys: &gkm,
			in:   corev1.PersistentVolumeClaim{ObjectMeta: meta(map[string]string{"cache-name": "m", "node": "", "digest": "d", "cache-namespace": "s"}, nil)},
			want: claim.PVC{Claim: "m", Revision: "d", Scope: "s"},
		},
		"if spec and status say more, it is read": {
			in: corev1.PersistentVolumeClaim{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "x", CreationTimestamp: now, DeletionTimestamp: &now, Annotations: map[string]string{claim.AnnSelectedNode: "n"}},
				Spec:       corev1.PersistentVolumeClaimSpec{StorageClassName: &class, VolumeName: "pv", AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteOncePod"}},
				Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
			},
			want: claim.PVC{Phase: corev1.ClaimBound, Deleting: true, VolumeName: "pv", StorageClass: "fast", SelectedNode: "n", ReadWriteOncePod: true, Created: 1700000000},
		},
	} {
		t.Run(what, func(t *testing.T) {
			if c.keys == nil {
				c.keys = &keys
			}
			c.want.Namespace, c.want.Name = "ml", "x"
			assert.Equal(t, &c.want, claim.NewPVC(&c.in, c.keys))
		})
	}
}

func TestNewPVAndStorageClassAndNode(t *testing.T) {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	affinity := required(host("a"))
	assert.Equal(t, &claim.PV{Name: "v", StorageClass: "s", Available: true, Affinity: affinity}, claim.NewPV(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "v"}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
		Spec: corev1.PersistentVolumeSpec{StorageClassName: "s", NodeAffinity: &corev1.VolumeNodeAffinity{Required: affinity}},
	}))
	assert.Equal(t, &claim.StorageClass{Name: "s", Provisioner: "p", WaitForFirstConsumer: true},
		claim.NewStorageClass(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Provisioner: "p", VolumeBindingMode: &wait}))
	assert.False(t, claim.NewStorageClass(&storagev1.StorageClass{}).WaitForFirstConsumer, "Immediate is the default")
	n := claim.NewNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"k": "v"}}})
	assert.Equal(t, &claim.Node{Name: "n", Labels: map[string]string{"k": "v"}}, n)
}

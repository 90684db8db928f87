package world

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// All objects of a kind have the same fields, so these are named once: there are
// worlds of 200,000 objects.
var (
	nodeFields = sync.OnceValue(func() owned { return allFields(newNode(0)) })
	pvcFields  = sync.OnceValue(func() owned { return allFields(newPVC(0, 0)) })
	pvFields   = sync.OnceValue(func() owned { return allFields(newPV(0, 0)) })
)

// Node is the nth Node, with the status that a kubelet reports.
func Node(n int) *corev1.Node { return with(newNode(n), "kubelet", nodeFields()) }

// PVC is a claim's node PVC on a node, bound to its PV.
func PVC(claim, node int) *corev1.PersistentVolumeClaim {
	return with(newPVC(claim, node), "kube-controller-manager", pvcFields())
}

// PV is the volume of that PVC, which only its node can use.
func PV(claim, node int) *corev1.PersistentVolume {
	return with(newPV(claim, node), "csi-provisioner", pvFields())
}

func with[O metav1.Object](object O, manager string, fields owned) O {
	own(object, manager, fields)
	return object
}

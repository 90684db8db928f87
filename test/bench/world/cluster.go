package world

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Labels of node PVCs, as Berth's flags have them by default.
const (
	ClaimLabel = "berth.dev/claim"
	NodeLabel  = "berth.dev/node"
)

// Namespaces is how many namespaces the claims are spread over.
const Namespaces = 7

const storageClass = "local-nvme"

// World is a cluster of some size.
type World struct {
	Nodes  int // Node objects
	Claims int // node-local claims, each with a PVC and a PV on every node
}

// born is when everything was created.
func born() metav1.Time { return metav1.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC) }

// NodeName is the name of the nth node, and its hostname.
func NodeName(n int) string { return fmt.Sprintf("node-%04d", n) }

// ClaimName is the name of the nth claim.
func ClaimName(n int) string { return fmt.Sprintf("model-%02d", n) }

// Namespace is where the nth claim is used.
func Namespace(n int) string { return fmt.Sprintf("team-%d", n%Namespaces) }

// PVCName is the name of a claim's PVC on a node.
func PVCName(claim, node int) string { return ClaimName(claim) + "-" + NodeName(node) }

// PVName is the name of the PV that is bound to that PVC.
func PVName(claim, node int) string { return "pvc-" + string(uid("pvc", claim, node)) }

// uid is made of what it stands for: a hash would be random to read, too.
func uid(kind string, a, b int) types.UID {
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", 0x5d2f0000+a, len(kind)*257, b%4096, a%4096, b*1_000_003+a))
}

// newNode is the nth Node, with the status that a kubelet reports.
func newNode(n int) *corev1.Node {
	name := NodeName(n)
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("96"), corev1.ResourceMemory: resource.MustParse("768Gi"),
		corev1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse("8"),
	}
	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: uid("node", n, 0), CreationTimestamp: born(),
			Labels: map[string]string{
				corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
				corev1.LabelInstanceTypeStable: "gpu-large", corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", n%3),
				corev1.LabelTopologyRegion: "region-1", "node-role.kubernetes.io/worker": "",
			},
			Annotations: map[string]string{"node.alpha.kubernetes.io/ttl": "0"},
		},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity, Conditions: nodeConditions(),
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			NodeInfo: corev1.NodeSystemInfo{
				KernelVersion: "6.12.0", OSImage: "Debian GNU/Linux 13", ContainerRuntimeVersion: "containerd://2.1.4",
				KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64",
			},
		},
	}
	for i := range 10 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     []string{fmt.Sprintf("registry.example/library/image-%02d@sha256:%064x", i, i), fmt.Sprintf("registry.example/library/image-%02d:1.%d", i, i)},
			SizeBytes: 100_000_000 + int64(i),
		})
	}
	return node
}

func nodeConditions() []corev1.NodeCondition {
	out := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}}
	for _, kind := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		out = append(out, corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficient", Message: "kubelet has sufficient resources available"})
	}
	for i := range out {
		out[i].LastHeartbeatTime, out[i].LastTransitionTime = born(), born()
	}
	return out
}

// newPVC is a claim's node PVC on a node, bound to its PV.
func newPVC(claim, node int) *corev1.PersistentVolumeClaim {
	class, mode := storageClass, corev1.PersistentVolumeFilesystem
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("200Gi")}
	pvc := &corev1.PersistentVolumeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace(claim), Name: PVCName(claim, node), UID: uid("pvc", claim, node), CreationTimestamp: born(),
			Labels: map[string]string{ClaimLabel: ClaimName(claim), NodeLabel: NodeName(node)},
			Annotations: map[string]string{
				"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes",
				"volume.kubernetes.io/selected-node":       NodeName(node),
				"volume.kubernetes.io/storage-provisioner": "nvme.csi.example",
			},
			Finalizers: []string{"kubernetes.io/pvc-protection"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Resources: corev1.VolumeResourceRequirements{Requests: size},
			VolumeName: PVName(claim, node), StorageClassName: &class, VolumeMode: &mode,
		},
		Status: corev1.PersistentVolumeClaimStatus{
			Phase: corev1.ClaimBound, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, Capacity: size,
		},
	}
	return pvc
}

// newPV is the volume of that PVC, which only its node can use.
func newPV(claim, node int) *corev1.PersistentVolume {
	mode := corev1.PersistentVolumeFilesystem
	pv := &corev1.PersistentVolume{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"},
		ObjectMeta: metav1.ObjectMeta{
			Name: PVName(claim, node), UID: uid("pv", claim, node), CreationTimestamp: born(),
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": "nvme.csi.example"},
			Finalizers:  []string{"kubernetes.io/pv-protection"},
		},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("200Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: storageClass, VolumeMode: &mode,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "nvme.csi.example", VolumeHandle: string(uid("handle", claim, node)), FSType: "xfs"},
			},
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: Namespace(claim), Name: PVCName(claim, node), UID: uid("pvc", claim, node),
			},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{NodeName(node)}}},
			}}}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound},
	}
	return pv
}

// EachClaim calls f for each claim on each node.
func (w World) EachClaim(f func(claim, node int)) {
	for n := range w.Nodes {
		for c := range w.Claims {
			f(c, n)
		}
	}
}

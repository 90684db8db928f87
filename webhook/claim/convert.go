package claim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// AnnSelectedNode is the annotation by which a WaitForFirstConsumer PVC is
// provisioned on a node (k8s.io/component-helpers/storage/volume).
const AnnSelectedNode = "volume.kubernetes.io/selected-node"

// Annotations of the default StorageClass (pkg/apis/storage/util of Kubernetes).
const (
	annDefaultClass     = "storageclass.kubernetes.io/is-default-class"
	annBetaDefaultClass = "storageclass.beta.kubernetes.io/is-default-class"
)

// NewNode picks what Berth reads from a Node.
func NewNode(n *corev1.Node) *Node {
	return &Node{Name: n.Name, Labels: n.Labels, Taints: n.Spec.Taints}
}

// NewPVC picks what Berth reads from a PersistentVolumeClaim.
func NewPVC(c *corev1.PersistentVolumeClaim, keys *Keys) *PVC {
	p := &PVC{
		Namespace: c.Namespace, Name: c.Name,
		Claim: c.Labels[keys.Claim], Node: nodeOf(c, keys), Revision: c.Labels[keys.Revision],
		Phase: c.Status.Phase, Deleting: c.DeletionTimestamp != nil,
		VolumeName: c.Spec.VolumeName, SelectedNode: c.Annotations[AnnSelectedNode],
		ReadWriteOncePod: slices.Contains(c.Spec.AccessModes, corev1.ReadWriteOncePod),
	}
	if !c.CreationTimestamp.IsZero() {
		p.Created = c.CreationTimestamp.Unix()
	}
	if keys.Scope != "" {
		p.Scope = c.Labels[keys.Scope]
	}
	if c.Spec.StorageClassName != nil {
		p.StorageClass = *c.Spec.StorageClassName
	}
	p.Populated, p.HasPopulated = c.Annotations[keys.PopulatedKey]
	return p
}

// nodeOf is the node whose data a PVC holds: the annotation, for names too
// long for a label value, wins over the label.
func nodeOf(c *corev1.PersistentVolumeClaim, keys *Keys) string {
	if node, ok := c.Annotations[keys.Node]; ok {
		return node
	}
	return c.Labels[keys.Node]
}

// NewPV picks what Berth reads from a PersistentVolume.
func NewPV(v *corev1.PersistentVolume) *PV {
	p := &PV{Name: v.Name, StorageClass: v.Spec.StorageClassName, Available: v.Status.Phase == corev1.VolumeAvailable}
	if v.Spec.NodeAffinity != nil {
		p.Affinity = v.Spec.NodeAffinity.Required
	}
	return p
}

// NewStorageClass picks what Berth reads from a StorageClass.
func NewStorageClass(c *storagev1.StorageClass) *StorageClass {
	s := &StorageClass{
		Name: c.Name, Provisioner: c.Provisioner,
		WaitForFirstConsumer: c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer,
		Default:              c.Annotations[annDefaultClass] == "true" || c.Annotations[annBetaDefaultClass] == "true",
	}
	if !c.CreationTimestamp.IsZero() {
		s.Created = c.CreationTimestamp.Unix()
	}
	return s
}

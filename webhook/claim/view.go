package claim

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
)

// View is an in-memory picture of the cluster. Its objects are shared and must
// not be changed. Lookups cost no call and can't fail: what the picture lacks
// is nil or empty, and [Reads] remembers that it was asked for.
type View interface {
	// Node is the Node of this name, or nil.
	Node(name string) *Node
	// NodesByLabel are the Nodes that bear the identity label key=value. Only
	// the identity keys of the rules are indexed.
	NodesByLabel(key, value string) []*Node
	// AllNodes are all Nodes, in no order.
	AllNodes() iter.Seq[*Node]
	// PVC is the PersistentVolumeClaim of this name, or nil.
	PVC(namespace, name string) *PVC
	// NodePVCs are the node PVCs of a node-local claim for one node, in no order.
	NodePVCs(namespace, claim, node string) []*PVC
	// Summary is what is known of all node PVCs of a node-local claim together.
	Summary(namespace, claim string) Summary
	// Holders are the names of the nodes with a live node PVC of the claim, sorted.
	Holders(namespace, claim string) []string
	// PV is the PersistentVolume of this name, or nil.
	PV(name string) *PV
	// AvailablePVs are the PersistentVolumes of a class that wait for a claim, in no order.
	AvailablePVs(class string) []*PV
	// StorageClass is the StorageClass of this name, or nil. "" is the default class.
	StorageClass(name string) *StorageClass
}

// Node is what Berth knows of a Node.
type Node struct {
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
}

// PVC is what Berth knows of a PersistentVolumeClaim.
type PVC struct {
	Namespace, Name string
	// Claim is the value of the claim label: the node-local claim it serves.
	Claim string
	// Node is the node whose data it holds: the node annotation, else the node
	// label. Empty for a PVC that is no node PVC.
	Node string
	// Revision and Scope are the values of the revision and scope labels.
	Revision, Scope string
	// Populated is the value of the populated key; HasPopulated, whether the
	// key is there at all.
	Populated        string
	HasPopulated     bool
	Phase            corev1.PersistentVolumeClaimPhase
	Deleting         bool
	VolumeName       string
	StorageClass     string
	SelectedNode     string // annotation volume.kubernetes.io/selected-node
	ReadWriteOncePod bool
	Created          int64 // creationTimestamp, seconds since 1970
}

// IsNodePVC tells whether the PVC holds a node-local claim's data for a node.
func (p *PVC) IsNodePVC() bool { return p.Claim != "" && p.Node != "" }

// Live tells whether the PVC can be used by a new pod: the scheduler refuses
// one that is being deleted or Lost (plugins/volumebinding in Kubernetes).
func (p *PVC) Live() bool { return !p.Deleting && p.Phase != corev1.ClaimLost }

// Bound tells whether a PersistentVolume is bound to the PVC.
func (p *PVC) Bound() bool { return p.Phase == corev1.ClaimBound }

// PV is what Berth knows of a PersistentVolume.
type PV struct {
	Name string
	// Affinity is spec.nodeAffinity.required; nil admits every node.
	Affinity     *corev1.NodeSelector
	StorageClass string
	Available    bool // phase Available: waiting for a claim
}

// StorageClass is what Berth knows of a StorageClass.
type StorageClass struct {
	Name                 string
	Provisioner          string
	WaitForFirstConsumer bool
	Default              bool  // annotated as the default class
	Created              int64 // creationTimestamp, seconds since 1970
}

// DefaultClass is the default one of several StorageClasses: of those so
// annotated the newest, then the first by name (GetDefaultClass in
// pkg/volume/util of Kubernetes). nil if there is none.
func DefaultClass(classes iter.Seq[*StorageClass]) *StorageClass {
	var best *StorageClass
	for c := range classes {
		if c.Default && (best == nil || c.Created > best.Created || c.Created == best.Created && c.Name < best.Name) {
			best = c
		}
	}
	return best
}

// Summary is what is known of all node PVCs of one node-local claim in one
// namespace. An index keeps it, so that a decision's cost does not grow with
// the number of nodes.
type Summary struct {
	Total     int // node PVCs, dead ones included
	Live      int // those neither being deleted nor Lost
	Named     int // live ones whose name is what the name template gives
	Populated int // those that bear the populated key, dead ones included
	Revisions int // different revisions among the live ones
}

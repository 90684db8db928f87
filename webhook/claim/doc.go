// Package claim is the ground floor of Berth: which node a pod is pinned to,
// and which PersistentVolumeClaim holds that node's copy of the data.
//
// Three words are Berth's own, and are used everywhere as defined here:
//
//   - A node-local claim is the logical name that pods use as claimName, for
//     example model-cache. It is a label value, never an object.
//   - A node PVC is a PersistentVolumeClaim that holds a node-local claim's
//     data for one node. It bears the claim label (berth.dev/claim) and a node
//     label (berth.dev/node) that is not empty. A node name too long for a
//     label value stands in an annotation of the node label's key; where the
//     annotation is present it wins, so a truncated label is never matched.
//   - A pod is pinned when its constraints on node identity (name,
//     kubernetes.io/hostname, and the per-node topology keys of local-volume
//     drivers) leave exactly one node, now and after any node joins.
//
// Everything here is pure: a function of its arguments and of a [View], an
// in-memory picture of the cluster that records what it was asked. The package
// imports k8s.io/api, k8s.io/apimachinery and the scheduler's own matching
// code (k8s.io/component-helpers/scheduling); no client, context, clock,
// logger or metric.
//
// # Reasons
//
// Every refusal bears one reason of a closed set, and a code: 422 where an
// object must be changed or created, 503 where waiting is enough.
//
//	reason               code  who has to act
//	NotPinned            422   the workload's author: use a DaemonSet, or pin the template
//	ContradictoryPin     422   the workload's author: two constraints name different nodes
//	NoNodePVC            422   the storage owner: create this node's PVC, or keep pods off the node
//	RevisionNotFound     422   the workload's author, or whoever fills: the revision asked for is not on this node
//	AmbiguousNodePVC     422   the storage owner: several PVCs serve this node, and nothing tells them apart
//	ScopeConflict        422   the storage owner: two claims of different scope share one name
//	VolumeOnAnotherNode  422   the storage owner: the PVC's volume cannot be used on the node of its label
//	SelectedOtherNode    422   the storage owner: the unbound PVC will be provisioned on another node
//	NeverBinds           422   the workload's author: spec.nodeName skips the scheduler, which binds the PVC
//	UnboundNodePVC       422   the workload's author: any node's disk could be bound to this node's PVC
//	OtherNodesPVC        422   the workload's author: the volume names another node's PVC
//	NodeLocalClaimLeft   422   the administrator: a later webhook brought the volume, or skipped Berth
//	InvalidAnnotation    422   the workload's author: an annotation of Berth's can't be read
//	TooManyVolumes       422   the workload's author: the pod has more PVC volumes than any node can attach
//	NotFilled            503   nobody: the data is still being written
//	ClusterUnreadable    503   the administrator: the API server could not be asked
//	InvalidObject        400   the client: the object is not what its kind says
//	InternalError        500   the project: a bug in Berth
package claim

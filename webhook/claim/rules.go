package claim

import (
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Keys are the label and annotation keys that Berth reads.
type Keys struct {
	Claim    string // label on a PVC: the node-local claim
	Node     string // label (or annotation) on a PVC: the node
	Revision string // label on a PVC: the version of the data
	Scope    string // label on a PVC that tells claims of one name apart; "" for none
	// Topology are the identity labels besides kubernetes.io/hostname.
	Topology []string
	// PopulatedKey is the annotation on a PVC that says whether it is filled,
	// PopulatedValue the value that says yes.
	PopulatedKey, PopulatedValue string
}

// Identity are the labels that can name one node, the hostname first.
func (k *Keys) Identity() []string {
	return append([]string{corev1.LabelHostname}, k.Topology...)
}

// identity gives them one by one.
func (k *Keys) identity() iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(corev1.LabelHostname) {
			return
		}
		for _, key := range k.Topology {
			if !yield(key) {
				return
			}
		}
	}
}

// identifies tells whether a label key can name one node.
func (k *Keys) identifies(key string) bool {
	return key == corev1.LabelHostname || slices.Contains(k.Topology, key)
}

// MissingPolicy says what becomes of a pod whose node has no node PVC.
type MissingPolicy string

// The policies for a missing node PVC.
const (
	MissingAuto MissingPolicy = "auto" // pend where the name is predictable, else deny
	MissingPend MissingPolicy = "pend" // rewrite to the name that the template gives
	MissingDeny MissingPolicy = "deny" // refuse
)

// Rules are the administrator's choices.
type Rules struct {
	Keys              Keys
	Missing           MissingPolicy
	Names             NameTemplate
	PopulatedRequired bool // a PVC without the populated key is not filled
}

// DefaultRules are the rules of Berth's flags as they come.
func DefaultRules() Rules {
	return Rules{
		Keys: Keys{
			Claim: "berth.dev/claim", Node: "berth.dev/node", Revision: "berth.dev/revision",
			Topology:     []string{"topology.topolvm.io/node", "topology.hostpath.csi/node", "openebs.io/nodename"},
			PopulatedKey: "berth.dev/populated", PopulatedValue: "true",
		},
		Missing: MissingAuto,
		Names:   DefaultNameTemplate,
	}
}

// GKMRules are the rules for PVCs that GPU Kernel Manager makes: its label
// keys, and no name template, because it gives its PVCs random suffixes
// (pkg/utils/contants.go and GenerateUniqueName in redhat-et/GKM).
func GKMRules() Rules {
	r := DefaultRules()
	r.Keys.Claim, r.Keys.Node, r.Keys.Revision, r.Keys.Scope = "cache-name", "node", "digest", "cache-namespace"
	r.Names = ""
	return r
}

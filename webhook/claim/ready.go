package claim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// filled tells whether the data is in the PVC. A populator binds a PVC only
// when the data is in; what fills a bound PVC puts the populated key on it.
func (rules *Rules) filled(need Need, p *PVC) bool {
	if need.Fills {
		return true
	}
	if p.HasPopulated {
		return p.Populated == rules.Keys.PopulatedValue
	}
	return !rules.PopulatedRequired
}

// onThisNode holds the PV of a bound PVC against the Node, by labels and by
// name: the labels of a PVC are only a promise, the PV's affinity is enforced.
func onThisNode(r *Reads, need Need, p *PVC) (warning string, refusal *Refusal) {
	if !p.Bound() {
		return "", nil
	}
	pv := r.PV(p.VolumeName)
	if pv == nil {
		r.Doubt(Question{Kind: AskPV, Name: p.VolumeName})
		return fmt.Sprintf("PersistentVolume %q of PVC %q is not known, so its node is not checked", p.VolumeName, p.Name), nil
	}
	if pv.Affinity == nil {
		return "", nil
	}
	node := r.Node(need.Node)
	if node == nil {
		r.Doubt(Question{Kind: AskNode, Name: need.Node})
		return fmt.Sprintf("no Node %q yet: the volume of PVC %q is not checked against it", need.Node, p.Name), nil
	}
	if admitsNode(pv, node) {
		return "", nil
	}
	return "", refuse(VolumeOnAnotherNode, "Correct the PVC's node label, or give this node a PVC of its own",
		"node %q's PVC %q is bound to PersistentVolume %q, which can be used on %s only", need.Node, p.Name, pv.Name, usableOn(r, pv))
}

// admitsNode asks the scheduler's code whether a PV can be used on a Node, unless it
// is as local volumes are: what a Node bears is what the PV names, so it can.
func admitsNode(pv *PV, n *Node) bool {
	if namesLabelsOf(pv, n) {
		return true
	}
	ok, err := nodeaffinity.NewLazyErrorNodeSelector(pv.Affinity).
		Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}})
	return ok && err == nil
}

// namesLabelsOf tells whether a PV has one term, of nothing but labels that the Node
// bears. A Node's labels are valid, so the term parses.
func namesLabelsOf(pv *PV, n *Node) bool {
	terms := pv.Affinity.NodeSelectorTerms
	if len(terms) != 1 || len(terms[0].MatchFields) > 0 || len(terms[0].MatchExpressions) == 0 {
		return false
	}
	for _, q := range terms[0].MatchExpressions {
		if q.Operator != corev1.NodeSelectorOpIn || len(q.Values) != 1 {
			return false
		}
		if value, has := n.Labels[q.Key]; !has || value != q.Values[0] {
			return false
		}
	}
	return true
}

// usableOn says for people where a PV can be used: the Nodes that there are,
// or else the values that its affinity lists.
func usableOn(r *Reads, pv *PV) string {
	terms := newTerms(nonEmpty(pv.Affinity.NodeSelectorTerms), base{}, &r.rules.Keys)
	if on := reachOf(terms, r); len(on.nodes) > 0 {
		return List(on.nodes)
	}
	var values []string
	for i := range terms {
		if q := terms[i].listed(); q != nil {
			values = append(values, fmt.Sprintf("%s %s", q.key, List(q.values())))
		}
	}
	if len(values) == 0 {
		return "other nodes"
	}
	return "nodes of " + List(values)
}

// provisionedHere refuses an unbound PVC that will be provisioned elsewhere:
// the scheduler rejects every node but the selected one, for ever.
func provisionedHere(_ *Reads, need Need, p *PVC) (string, *Refusal) {
	if p.Bound() || p.SelectedNode == "" || p.SelectedNode == need.Node {
		return "", nil
	}
	return "", refuse(SelectedOtherNode, "Delete the PVC and create it again for this node",
		"node %q's PVC %q is to be provisioned on node %q (annotation %s)", need.Node, p.Name, p.SelectedNode, AnnSelectedNode)
}

// filled refuses, retriably, a PVC whose data is still being written.
func filled(r *Reads, need Need, p *PVC) (string, *Refusal) {
	if !r.rules.filled(need, p) {
		return "", refuse(NotFilled, untilFilled(r), "node %q's PVC %q is not filled yet (annotation %s is %s)", need.Node, p.Name, r.rules.Keys.PopulatedKey, populatedState(p))
	}
	if p.Bound() || need.Fills {
		return "", nil
	}
	if r.Summary(need.Namespace, need.Claim).Populated > 0 {
		return "", refuse(NotFilled, untilFilled(r), "node %q's PVC %q is %s, and a bound PVC of this claim is not yet a filled one", need.Node, p.Name, phase(p))
	}
	return "", nil
}

func untilFilled(r *Reads) string {
	return fmt.Sprintf("Wait: the pod can be created once the PVC bears %s=%s", r.rules.Keys.PopulatedKey, r.rules.Keys.PopulatedValue)
}

func populatedState(p *PVC) string {
	if p.HasPopulated {
		return fmt.Sprintf("%q", p.Populated)
	}
	return "absent"
}

func phase(p *PVC) string {
	if p.Phase == "" {
		return string(corev1.ClaimPending)
	}
	return string(p.Phase)
}

// binds warns of a PVC that is still unbound, and refuses what never binds:
// only the scheduler makes a WaitForFirstConsumer PVC bind, and spec.nodeName
// skips it (kubernetes#65604).
func binds(r *Reads, need Need, p *PVC) (string, *Refusal) {
	if p.Bound() {
		return "", nil
	}
	if need.NodeName && waitsForConsumer(r, p) {
		return "", refuse(NeverBinds, "Replace spec.nodeName by the nodeSelector kubernetes.io/hostname",
			"node %q's PVC %q is %s and binds only when the scheduler places a pod, which spec.nodeName skips", need.Node, p.Name, phase(p))
	}
	return fmt.Sprintf("PVC %q is %s: the pod waits until it is bound", p.Name, phase(p)), nil
}

// waitsForConsumer tells whether an unbound PVC waits for the scheduler.
func waitsForConsumer(r *Reads, p *PVC) bool {
	if p.SelectedNode != "" || p.VolumeName != "" || p.StorageClass == "" {
		return false // selected, promised to a volume, or of no class: the PV controller binds it
	}
	class := r.StorageClass(p.StorageClass)
	if class == nil {
		r.Doubt(Question{Kind: AskStorageClass, Name: p.StorageClass})
		return false
	}
	return class.WaitForFirstConsumer
}

// AnyPVFor tells whether a PersistentVolume of a class is Available and can be
// used on a node.
func AnyPVFor(r *Reads, class string, n *Node) bool {
	for _, pv := range r.AvailablePVs(class) {
		if pv.Affinity == nil || admitsNode(pv, n) {
			return true
		}
	}
	return false
}

package claim

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Placement is what a pod, or a pod template, says of its node.
type Placement struct {
	Namespace    string
	NodeName     string               // spec.nodeName
	NodeSelector map[string]string    // spec.nodeSelector
	Required     *corev1.NodeSelector // required node affinity
	// PVCs are the names of the pod's other PVCs, those without the claim label
	// that a volume of the pod names.
	PVCs []string
}

// Outcome is what Resolve found.
type Outcome uint8

// The outcomes of Resolve.
const (
	Unpinned      Outcome = iota // more than one node is possible, now or later
	Pinned                       // exactly one node is
	Contradictory                // no node is
)

// Resolution is which node a pod is pinned to, if it is.
type Resolution struct {
	Outcome Outcome
	Node    string // the node, when pinned
	Why     string // why it is not pinned, or what contradicts what
	Today   string // the only node that matches today, where it is not pinned
	Warning string // a requirement that the pinned node fails today
}

// Resolve tells which node a pod is pinned to. Each of spec.nodeName, the node
// selector, required node affinity and the volumes already bound to the pod's
// other PVCs narrows the set of nodes; the sets are intersected. In on an
// identity lists candidates and NotIn removes some; nothing else pins or
// excludes, even where one node matches today, for labels change and nodes join.
func Resolve(r *Reads, p Placement) Resolution {
	pod := source{label: "the pod", terms: podTerms(p, &r.rules.Keys)}
	volumes := volumeSources(r, p)
	left := intersect(r, append([]source{pod}, volumes...))
	switch {
	case left.pins():
		node := left.nodes[0]
		return Resolution{Outcome: Pinned, Node: node, Warning: misfit(r, p, node)}
	case left.empty():
		return Resolution{Outcome: Contradictory, Why: contradiction(r, p, volumes)}
	default:
		return Resolution{Outcome: Unpinned, Why: whyUnpinned(r, pod.terms, volumes, left), Today: today(r, p, volumes)}
	}
}

// podTerms are the pod's own constraints as ORed terms: spec.nodeName and the
// node selector are ANDed to each term of the required node affinity.
func podTerms(p Placement, keys *Keys) []term {
	selector := newBase(p.NodeSelector)
	var name []corev1.NodeSelectorRequirement
	if p.NodeName != "" {
		name = nameIs(p.NodeName)
	}
	if p.Required == nil {
		return newTerms([]corev1.NodeSelectorTerm{{MatchFields: name}}, selector, keys)
	}
	var all []corev1.NodeSelectorTerm
	for _, t := range p.Required.NodeSelectorTerms {
		if !isEmpty(t) { // an empty term matches nothing, whatever is ANDed to it
			t.MatchFields = slices.Concat(name, t.MatchFields)
			all = append(all, t)
		}
	}
	return newTerms(all, selector, keys)
}

func newTerms(all []corev1.NodeSelectorTerm, with base, keys *Keys) []term {
	var terms []term
	for _, api := range all {
		if t, ok := newTerm(api, with, keys); ok {
			terms = append(terms, t)
		}
	}
	return terms
}

func nameIs(node string) []corev1.NodeSelectorRequirement {
	return []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}
}

// selectorRequirements turns a node selector into requirements, sorted by key.
func selectorRequirements(selector map[string]string) []corev1.NodeSelectorRequirement {
	if len(selector) == 0 {
		return nil
	}
	out := make([]corev1.NodeSelectorRequirement, 0, len(selector))
	for key, value := range selector {
		out = append(out, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
	}
	slices.SortFunc(out, func(a, b corev1.NodeSelectorRequirement) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// source is one set of constraints, as people know it.
type source struct {
	label string // for example "spec.nodeName node-a"
	terms []term
}

// volumeSources are the volumes that already tie the pod to a node. A PV's
// matchFields are not enforced (CheckNodeAffinity in component-helpers builds a
// Node without a name), so only its labels count.
func volumeSources(r *Reads, p Placement) []source {
	var out []source
	for _, name := range p.PVCs {
		pvc := r.PVC(p.Namespace, name)
		if pvc == nil || !pvc.Bound() || pvc.VolumeName == "" {
			continue
		}
		pv := r.PV(pvc.VolumeName)
		if pv == nil {
			r.Doubt(Question{Kind: AskPV, Name: pvc.VolumeName})
			continue
		}
		if pv.Affinity != nil {
			out = append(out, source{
				label: fmt.Sprintf("PersistentVolume %q of PVC %q", pv.Name, name),
				terms: labelTerms(pv.Affinity, &r.rules.Keys),
			})
		}
	}
	return out
}

// labelTerms reads a PV's terms without their matchFields. A term of nothing
// else is not enforced at all: every node.
func labelTerms(s *corev1.NodeSelector, keys *Keys) []term {
	var out []term
	for _, api := range s.NodeSelectorTerms {
		if isEmpty(api) {
			continue
		}
		if t, ok := newTerm(corev1.NodeSelectorTerm{MatchExpressions: api.MatchExpressions}, base{}, keys); ok {
			out = append(out, t)
		}
	}
	return out
}

// intersect is what all sources leave together. Candidates come from the one
// that lists the fewest nodes; the others say whether they admit them.
func intersect(r *Reads, sources []source) reach {
	out := reach{every: true, open: true}
	for _, s := range sources {
		one := reachOf(s.terms, r)
		out.open = out.open && one.open
		if !one.every && (out.every || len(one.nodes) < len(out.nodes)) {
			out.every, out.nodes = false, one.nodes
		}
	}
	if len(sources) > 1 {
		out.nodes = slices.DeleteFunc(out.nodes, func(n string) bool {
			return slices.ContainsFunc(sources, func(s source) bool { return !admitsAny(r, s.terms, n) })
		})
	}
	return out
}

func admitsAny(r *Reads, terms []term, node string) bool {
	return slices.ContainsFunc(terms, func(t term) bool { return t.admits(r, node) })
}

// misfit warns of a pinned node that fails a requirement today; "" if it fits.
func misfit(r *Reads, p Placement, name string) string {
	expressions := p.Required != nil && hasExpressions(p.Required)
	if len(p.NodeSelector) == 0 && !expressions || p.size() > fitnessMax {
		return ""
	}
	node := r.Node(name)
	switch {
	case node == nil, !expressions && node.bears(p.NodeSelector), newFitness(p).of(node):
		return ""
	}
	return fmt.Sprintf("node %q does not match the pod's nodeSelector or node affinity today", name)
}

func hasExpressions(s *corev1.NodeSelector) bool {
	return slices.ContainsFunc(s.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool { return len(t.MatchExpressions) > 0 })
}

// fitnessMax is how many requirements and values are held against a node for
// the sake of a warning or a hint.
const fitnessMax = 2000

// fitness tells whether the scheduler would let a pod on a node as the node is now.
type fitness struct {
	nodeName string
	required nodeaffinity.RequiredNodeAffinity
}

// newFitness parses a pod's constraints once, for many nodes.
func newFitness(p Placement) fitness {
	affinity := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: p.Required}}
	return fitness{p.NodeName, nodeaffinity.NewRequiredNodeAffinity(p.NodeSelector, affinity)}
}

func (f fitness) of(n *Node) bool {
	if f.nodeName != "" && f.nodeName != n.Name {
		return false
	}
	ok, err := f.required.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}})
	return ok && err == nil
}

// size is how many requirements and values a pod's constraints have: what it
// costs to hold them against one node.
func (p Placement) size() int {
	size := 1 + len(p.NodeSelector)
	if p.Required != nil {
		for _, t := range p.Required.NodeSelectorTerms {
			size += sizeOf(t.MatchExpressions) + sizeOf(t.MatchFields)
		}
	}
	return size
}

func sizeOf(requirements []corev1.NodeSelectorRequirement) int {
	size := 0
	for _, q := range requirements {
		size += 1 + len(q.Values)
	}
	return size
}

// bears tells whether a Node has all of these labels.
func (n *Node) bears(labels map[string]string) bool {
	for key, value := range labels {
		if got, has := n.Labels[key]; !has || got != value {
			return false
		}
	}
	return true
}

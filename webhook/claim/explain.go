package claim

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ListMax is how many names a message lists before it counts the rest.
const ListMax = 5

// List joins names for a message, cut at [ListMax].
func List(names []string) string {
	if len(names) > ListMax {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:ListMax], ", "), len(names)-ListMax)
	}
	return strings.Join(names, ", ")
}

// podSources are the pod's own constraints one by one, as people know them.
func podSources(p Placement, keys *Keys) []source {
	var out []source
	if p.NodeName != "" {
		out = append(out, source{
			label: fmt.Sprintf("spec.nodeName %q", p.NodeName),
			terms: newTerms([]corev1.NodeSelectorTerm{{MatchFields: nameIs(p.NodeName)}}, base{}, keys),
		})
	}
	for _, q := range selectorRequirements(p.NodeSelector) {
		if keys.identifies(q.Key) {
			out = append(out, source{
				label: fmt.Sprintf("nodeSelector %s=%q", q.Key, q.Values[0]),
				terms: newTerms([]corev1.NodeSelectorTerm{{}}, newBase(map[string]string{q.Key: q.Values[0]}), keys),
			})
		}
	}
	if p.Required != nil {
		out = append(out, source{label: "the required node affinity", terms: newTerms(nonEmpty(p.Required.NodeSelectorTerms), base{}, keys)})
	}
	return out
}

func nonEmpty(terms []corev1.NodeSelectorTerm) []corev1.NodeSelectorTerm {
	return slices.DeleteFunc(slices.Clone(terms), isEmpty)
}

// PinnedBy says what pins a pod to the node that [Resolve] found: the first source
// that alone leaves only this node.
func PinnedBy(r *Reads, p Placement, node string) string {
	if p.NodeName != "" {
		return "spec.nodeName"
	}
	for _, s := range append(podSources(p, &r.rules.Keys), volumeSources(r, p)...) {
		if one := reachOf(s.terms, r); one.pins() && one.nodes[0] == node {
			return s.label
		}
	}
	return "its constraints together"
}

// contradiction names the two sources that no node can meet.
func contradiction(r *Reads, p Placement, volumes []source) string {
	sources := append(podSources(p, &r.rules.Keys), volumes...)
	for _, s := range sources {
		if len(s.terms) == 0 || reachOf(s.terms, r).empty() {
			return fmt.Sprintf("%s can match no node%s", s.label, severalNames(p.Required))
		}
	}
	for i, s := range sources {
		for _, t := range sources[:i] {
			if intersect(r, []source{s, t}).empty() {
				return disagree(r, t, s)
			}
		}
	}
	if len(p.NodeSelector) > 0 && p.Required != nil {
		return "no node can meet both its nodeSelector and its required node affinity"
	}
	return "its constraints on the node contradict one another"
}

// disagree says what each of two sources allows.
func disagree(r *Reads, a, b source) string {
	onA, onB := reachOf(a.terms, r), reachOf(b.terms, r)
	if len(onA.nodes) == 0 {
		a, b, onA, onB = b, a, onB, onA
	}
	if len(onB.nodes) == 0 {
		return fmt.Sprintf("%s allows %s, which %s excludes", a.label, List(onA.nodes), b.label)
	}
	return fmt.Sprintf("%s allows %s, while %s allows %s", a.label, List(onA.nodes), b.label, List(onB.nodes))
}

// severalNames explains the commonest invalid term.
func severalNames(s *corev1.NodeSelector) string {
	if s == nil {
		return ""
	}
	for _, t := range s.NodeSelectorTerms {
		for _, f := range t.MatchFields {
			if f.Key == metav1.ObjectNameField && len(f.Values) != 1 {
				return fmt.Sprintf(": matchFields metadata.name takes exactly one value, not %d", len(f.Values))
			}
		}
	}
	return ""
}

// whyUnpinned says why more than one node is possible.
func whyUnpinned(r *Reads, pod []term, volumes []source, left reach) string {
	terms := slices.Clone(pod)
	for _, v := range volumes {
		terms = append(terms, v.terms...)
	}
	if left.every {
		if slices.ContainsFunc(terms, func(t term) bool { return t.hasName || t.listed() != nil }) {
			return "one of its ORed node affinity terms names no node"
		}
		return ""
	}
	shared, unborne := identityProblems(r, terms)
	switch {
	case shared != "":
		return shared
	case unborne != "" && len(left.nodes) > 0:
		return fmt.Sprintf("its constraints allow %s, and any node that joins with %s", List(left.nodes), unborne)
	case unborne != "":
		return "no Node bears " + unborne + otherCase(r, terms)
	case len(left.nodes) >= manyNodes:
		return "its constraints allow many nodes: " + List(left.nodes)
	default:
		return fmt.Sprintf("its constraints allow %d nodes: %s", len(left.nodes), List(left.nodes))
	}
}

// identityProblems finds label values that several Nodes bear, and those that none does.
func identityProblems(r *Reads, terms []term) (shared, unborne string) {
	for i := range terms {
		q := terms[i].listed()
		if q == nil || terms[i].hasName {
			continue
		}
		values := q.values()
		for _, v := range values[:min(len(values), manyNodes)] {
			nodes := r.NodesByLabel(q.key, v)
			switch {
			case len(nodes) > 1 && shared == "":
				shared = fmt.Sprintf("%s=%q is borne by %d Nodes: %s", q.key, v, len(nodes), List(nodeNames(nodes)))
			case len(nodes) == 0 && unborne == "":
				unborne = fmt.Sprintf("%s=%q", q.key, v)
			}
		}
	}
	return shared, unborne
}

// otherCase names a Node that an identity label would name but for upper and
// lower case: labels are case-sensitive, and Kubernetes lowers host names.
func otherCase(r *Reads, terms []term) string {
	if len(terms) != 1 || terms[0].listed() == nil {
		return ""
	}
	q := terms[0].listed()
	value := q.values()[0]
	for n := range r.AllNodes() {
		if got := n.Labels[q.key]; got != "" && got != value && strings.EqualFold(got, value) {
			return fmt.Sprintf(" (node %q bears %q; labels are case-sensitive)", n.Name, got)
		}
	}
	return ""
}

func nodeNames(nodes []*Node) []string {
	names := make([]string, 0, len(nodes))
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names
}

// hintMax bounds the work for a hint: requirements times nodes.
const hintMax = 50_000

// today names the only node that matches as things are, if there is one: what
// people see and take for a pin.
func today(r *Reads, p Placement, volumes []source) string {
	if len(p.NodeSelector) == 0 && p.Required == nil || p.size() > fitnessMax {
		return ""
	}
	only, work, size := "", 0, p.size()
	fits := newFitness(p)
	for n := range r.AllNodes() {
		if work += size; work > hintMax {
			return ""
		}
		if fits.of(n) && !slices.ContainsFunc(volumes, func(v source) bool { return !admitsAny(r, v.terms, n.Name) }) {
			if only != "" {
				return ""
			}
			only = n.Name
		}
	}
	return only
}

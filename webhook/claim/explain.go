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
			terms: newTerms([]corev1.NodeSelectorTerm{{MatchFields: nameIs(p.NodeName)}}, keys),
		})
	}
	for _, q := range selectorRequirements(p.NodeSelector) {
		if keys.identifies(q.Key) {
			out = append(out, source{
				label: fmt.Sprintf("nodeSelector %s=%q", q.Key, q.Values[0]),
				terms: newTerms([]corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{q}}}, keys),
			})
		}
	}
	if p.Required != nil {
		out = append(out, source{label: "its required node affinity", terms: newTerms(p.Required.NodeSelectorTerms, keys)})
	}
	return out
}

// pinnedBy names the first source that alone leaves only this node.
func pinnedBy(r *Reads, p Placement, volumes []source, node string) string {
	if p.NodeName != "" {
		return "spec.nodeName"
	}
	for _, s := range append(podSources(p, &r.rules.Keys), volumes...) {
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
	default:
		return fmt.Sprintf("its constraints allow %d nodes: %s", len(left.nodes), List(left.nodes))
	}
}

// identityProblems finds label values that several Nodes bear, and those that none does.
func identityProblems(r *Reads, terms []term) (shared, unborne string) {
	for _, t := range terms {
		q := t.listed()
		if q == nil || t.hasName {
			continue
		}
		for _, v := range q.Values {
			nodes := r.NodesByLabel(q.Key, v)
			switch {
			case len(nodes) > 1 && shared == "":
				shared = fmt.Sprintf("%s=%q is borne by %d Nodes: %s", q.Key, v, len(nodes), List(nodeNames(nodes)))
			case len(nodes) == 0 && unborne == "":
				unborne = fmt.Sprintf("%s=%q", q.Key, v)
			}
		}
	}
	return shared, unborne
}

// otherCase names a Node that an identity label would name but for upper and
// lower case: labels are case-sensitive, and Kubernetes lowers host names.
func otherCase(r *Reads, terms []term) string {
	for _, t := range terms {
		q := t.listed()
		if q == nil || t.hasName {
			continue
		}
		for n := range r.AllNodes() {
			if got := n.Labels[q.Key]; got != "" && got != q.Values[0] && strings.EqualFold(got, q.Values[0]) {
				return fmt.Sprintf(" (node %q bears %q; labels are case-sensitive)", n.Name, got)
			}
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

// today names the only node that matches as things are, if there is one: what
// people see and take for a pin.
func today(r *Reads, p Placement) string {
	if len(p.NodeSelector) == 0 && p.Required == nil {
		return ""
	}
	only := ""
	for n := range r.AllNodes() {
		if fits(p, n) {
			if only != "" {
				return ""
			}
			only = n.Name
		}
	}
	return only
}

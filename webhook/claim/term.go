package claim

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// A term is one node selector term that can match some node. Only what it says
// of node identity narrows: any other label may be put on any node at any time.
//
// Rules of the scheduler (component-helpers/scheduling/corev1/nodeaffinity):
// terms are ORed, expressions and fields in a term ANDed, an empty term and one
// that does not parse match nothing. matchFields know metadata.name only, and
// In takes exactly one value there.
type term struct {
	name     string                           // the value of metadata.name In, if hasName
	hasName  bool                             //
	fields   []corev1.NodeSelectorRequirement // all matchFields
	identity []corev1.NodeSelectorRequirement // In and NotIn on identity labels: what lists and excludes
	keyed    []corev1.NodeSelectorRequirement // everything on identity labels
}

// newTerm reads a term; false if it can match no node whatever its labels.
func newTerm(api corev1.NodeSelectorTerm, keys *Keys) (term, bool) {
	if len(api.MatchExpressions) == 0 && len(api.MatchFields) == 0 {
		return term{}, false
	}
	if _, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{api}}); err != nil {
		return term{}, false
	}
	t := term{fields: api.MatchFields}
	for _, e := range api.MatchExpressions {
		if !keys.identifies(e.Key) {
			continue
		}
		t.keyed = append(t.keyed, e)
		if e.Operator == corev1.NodeSelectorOpIn || e.Operator == corev1.NodeSelectorOpNotIn {
			t.identity = append(t.identity, e)
		}
	}
	for _, f := range api.MatchFields {
		isName := f.Key == metav1.ObjectNameField
		if isName && f.Operator == corev1.NodeSelectorOpIn {
			t.name, t.hasName = f.Values[0], true
		}
		if t.hasName && t.name == "" || !isName && !matches(anyNode, nil, []corev1.NodeSelectorRequirement{f}) {
			return term{}, false // no node is nameless, and none has another field
		}
	}
	return t, satisfiable(api.MatchExpressions, func(string, string) bool { return true })
}

// anyNode stands for every node where its name makes no difference.
var anyNode = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "any"}}

// reach is the set of nodes that constraints leave.
type reach struct {
	nodes []string // the nodes it allows, sorted, unless every
	every bool     // nothing lists nodes: each one that exists may be allowed
	open  bool     // a node that does not exist yet may be allowed
}

func (r reach) pins() bool  { return len(r.nodes) == 1 && !r.every && !r.open }
func (r reach) empty() bool { return len(r.nodes) == 0 && !r.every && !r.open }

// reachOf is the union of what the terms allow.
func reachOf(terms []term, r *Reads) reach {
	var all reach
	for i := range terms {
		one := terms[i].reach(r)
		all.nodes = append(all.nodes, one.nodes...)
		all.every, all.open = all.every || one.every, all.open || one.open
	}
	if len(terms) > 1 {
		slices.Sort(all.nodes)
		all.nodes = slices.Compact(all.nodes)
	}
	return all
}

func (t *term) reach(r *Reads) reach {
	if t.hasName {
		if t.admits(r, t.name) {
			return reach{nodes: []string{t.name}}
		}
		return reach{}
	}
	out := reach{open: t.open(r)}
	listed := t.listed()
	if listed == nil {
		out.every = true
		return out
	}
	for _, value := range listed.Values {
		for _, n := range r.NodesByLabel(listed.Key, value) {
			if !slices.Contains(out.nodes, n.Name) && t.admits(r, n.Name) {
				out.nodes = append(out.nodes, n.Name)
			}
		}
	}
	slices.Sort(out.nodes)
	return out
}

// listed is the first requirement that lists values of an identity label.
func (t *term) listed() *corev1.NodeSelectorRequirement {
	for i := range t.identity {
		if t.identity[i].Operator == corev1.NodeSelectorOpIn {
			return &t.identity[i]
		}
	}
	return nil
}

// admits tells whether the identity of a node fits the term. A node without a
// Node object fits if its labels, still unknown, may.
func (t *term) admits(r *Reads, name string) bool {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if len(t.identity) == 0 {
		return matches(node, nil, t.fields)
	}
	known := r.Node(name)
	if known == nil {
		return matches(node, nil, t.fields) && t.open(r)
	}
	node.Labels = known.Labels
	return matches(node, t.identity, t.fields)
}

// open tells whether a node that does not exist yet could fit: it may bear any
// value of an identity label but those that exactly one Node bears.
func (t *term) open(r *Reads) bool {
	return satisfiable(t.keyed, func(key, value string) bool { return len(r.NodesByLabel(key, value)) != 1 })
}

// matches asks the scheduler's own code.
func matches(node *corev1.Node, expressions, fields []corev1.NodeSelectorRequirement) bool {
	if len(expressions) == 0 && len(fields) == 0 {
		return true
	}
	s := nodeaffinity.NewLazyErrorNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: expressions, MatchFields: fields,
	}}})
	ok, err := s.Match(node)
	return ok && err == nil
}

// satisfiable tells whether some set of labels meets all requirements, with
// only values that are allowed. Keys are independent of one another, so each is
// tried with every value that could make a difference.
func satisfiable(requirements []corev1.NodeSelectorRequirement, allowed func(key, value string) bool) bool {
	for i := range requirements {
		key := requirements[i].Key
		if slices.ContainsFunc(requirements[:i], func(q corev1.NodeSelectorRequirement) bool { return q.Key == key }) {
			continue
		}
		if !keySatisfiable(key, requirements[i:], allowed) {
			return false
		}
	}
	return true
}

func keySatisfiable(key string, requirements []corev1.NodeSelectorRequirement, allowed func(key, value string) bool) bool {
	var same []corev1.NodeSelectorRequirement
	for _, q := range requirements {
		if q.Key == key {
			same = append(same, q)
		}
	}
	if matches(&corev1.Node{}, same, nil) { // absent
		return true
	}
	for _, value := range telling(same) {
		if matches(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels.Set{key: value}}}, same, nil) && allowed(key, value) {
			return true
		}
	}
	return false
}

// telling are values of one label of which at least one meets the requirements
// if any value does: those listed, the neighbours of bounds, and a fresh one.
func telling(requirements []corev1.NodeSelectorRequirement) []string {
	fresh := "fresh"
	var values []string
	for _, q := range requirements {
		for _, v := range q.Values {
			values = append(values, v)
			if n, err := strconv.ParseInt(v, 10, 64); err == nil && (q.Operator == corev1.NodeSelectorOpGt || q.Operator == corev1.NodeSelectorOpLt) {
				values = append(values, strconv.FormatInt(n+1, 10), strconv.FormatInt(n-1, 10))
			}
		}
	}
	for slices.Contains(values, fresh) {
		fresh += "-"
	}
	return append(values, fresh)
}

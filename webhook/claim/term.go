package claim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	name     string // the value of metadata.name In, if hasName
	hasName  bool
	notNames []string // the values of metadata.name NotIn
	identity []identity
}

// identity is what a term asks of one identity label.
type identity struct {
	key string
	*keyed
}

// newTerm reads a term and a node selector ANDed to it; false if they can match
// no node whatever its labels.
func newTerm(api corev1.NodeSelectorTerm, with base, keys *Keys) (term, bool) {
	var t term
	if !parses(api) || with.impossible || !t.readFields(api.MatchFields) {
		return term{}, false
	}
	own := keyedBy(api.MatchExpressions)
	for key, k := range own {
		if more, ok := with.byKey[key]; ok {
			own[key] = k.merged(more)
		}
		if !own[key].satisfiable(func(string) bool { return true }) {
			return term{}, false
		}
	}
	for key := range keys.identity() {
		k, ok := own[key]
		if !ok {
			k, ok = with.byKey[key]
		}
		if ok {
			t.identity = append(t.identity, identity{key, k})
		}
	}
	return t, true
}

// parses asks the scheduler's code about each requirement by itself: of all
// together its cost grows with their square.
func parses(api corev1.NodeSelectorTerm) bool {
	for i, q := range api.MatchExpressions {
		if listsValues(&q) {
			continue
		}
		if overlong(q.Key, q.Values...) {
			return false
		}
		term := corev1.NodeSelectorTerm{MatchExpressions: api.MatchExpressions[i : i+1]}
		if _, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}); err != nil {
			return false
		}
	}
	return !slices.ContainsFunc(api.MatchFields, func(f corev1.NodeSelectorRequirement) bool { return !fieldParses(f) })
}

// listsValues tells whether a requirement is as nearly all are: In or NotIn, with a
// key and values that labels can have. It parses (labels.NewRequirement).
func listsValues(q *corev1.NodeSelectorRequirement) bool {
	return (q.Operator == corev1.NodeSelectorOpIn || q.Operator == corev1.NodeSelectorOpNotIn) &&
		len(q.Values) > 0 && IsLabelKey(q.Key) && !slices.ContainsFunc(q.Values, func(value string) bool { return !IsLabelValue(value) })
}

// fieldParses is the rule of nodeSelectorRequirementsAsFieldSelector, in the same
// package: every pod of a DaemonSet has one field, and the library's answer costs more
// than all the rest of the term.
func fieldParses(f corev1.NodeSelectorRequirement) bool {
	return (f.Operator == corev1.NodeSelectorOpIn || f.Operator == corev1.NodeSelectorOpNotIn) && len(f.Values) == 1
}

func isEmpty(api corev1.NodeSelectorTerm) bool {
	return len(api.MatchExpressions) == 0 && len(api.MatchFields) == 0
}

// readFields reads matchFields; false if no node can match them: none is
// nameless, and none has another field.
func (t *term) readFields(fields []corev1.NodeSelectorRequirement) bool {
	for _, f := range fields {
		switch {
		case f.Key != metav1.ObjectNameField:
			if f.Operator == corev1.NodeSelectorOpIn && f.Values[0] != "" || f.Operator == corev1.NodeSelectorOpNotIn && f.Values[0] == "" {
				return false
			}
		case f.Operator == corev1.NodeSelectorOpNotIn:
			t.notNames = append(t.notNames, f.Values[0])
		case t.hasName && t.name != f.Values[0] || f.Values[0] == "":
			return false
		default:
			t.name, t.hasName = f.Values[0], true
		}
	}
	return !t.hasName || !slices.Contains(t.notNames, t.name)
}

// reach is the set of nodes that constraints leave.
type reach struct {
	nodes []string // the nodes it allows, sorted, unless every; not many more than manyNodes
	every bool     // nothing lists nodes: each one that exists may be allowed
	open  bool     // a node that does not exist yet, or one more, may be allowed
}

// manyNodes is when a set is large enough to stop looking for more.
const manyNodes = 64

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
	listed := t.listed()
	if listed == nil {
		return reach{every: true, open: t.open(r)}
	}
	var out reach
	for _, value := range listed.values() {
		for _, n := range r.NodesByLabel(listed.key, value) {
			if len(out.nodes) < manyNodes && !slices.Contains(out.nodes, n.Name) && t.admits(r, n.Name) {
				out.nodes = append(out.nodes, n.Name)
			}
		}
		if len(out.nodes) == manyNodes {
			break
		}
	}
	slices.Sort(out.nodes)
	out.open = len(out.nodes) == manyNodes || t.open(r)
	return out
}

// listed is the identity label of which values are listed, the fewest of them.
func (t *term) listed() *identity {
	var best *identity
	for i := range t.identity {
		if k := &t.identity[i]; k.in != nil && (best == nil || len(k.in) < len(best.in)) {
			best = k
		}
	}
	return best
}

// values are those that In lists and NotIn leaves, sorted.
func (k *identity) values() []string {
	var out []string
	for value := range k.in {
		if !k.notIn.Has(value) {
			out = append(out, value)
		}
	}
	slices.Sort(out)
	return out
}

// admits tells whether the identity of a node fits the term. A node without a
// Node object fits if its labels, still unknown, may.
func (t *term) admits(r *Reads, name string) bool {
	if t.hasName && t.name != name || slices.Contains(t.notNames, name) {
		return false
	}
	if len(t.identity) == 0 {
		return true
	}
	known := r.Node(name)
	if known == nil {
		return t.open(r)
	}
	for _, k := range t.identity {
		if value, has := known.Labels[k.key]; !k.lists(value, has) {
			return false
		}
	}
	return true
}

// open tells whether a node that does not exist yet could fit: it may bear any
// value of an identity label but those that exactly one Node bears.
func (t *term) open(r *Reads) bool {
	for _, k := range t.identity {
		if !k.satisfiable(func(value string) bool { return len(r.NodesByLabel(k.key, value)) != 1 }) {
			return false
		}
	}
	return true
}

package claim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

const topolvm = "topology.topolvm.io/node"

var (
	identityKeys = []string{corev1.LabelHostname, topolvm}
	otherKeys    = []string{corev1.LabelTopologyZone, "gpus"}
)

// TestResolveAgreesWithTheScheduler compares the resolver with the scheduler's
// own affinity code over random pods and clusters.
func TestResolveAgreesWithTheScheduler(t *testing.T) {
	rules := claim.DefaultRules()
	const rounds = 20000
	count := map[claim.Outcome]int{}
	for seed := range uint64(rounds) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
		g.favourite = oneOf(g, "a", "b", "c")
		cluster, p := g.cluster(), g.placement()
		res := claim.Resolve(claim.NewReads(cluster, &rules, nil), p)
		count[res.Outcome]++
		world := &world{cluster: cluster, placement: p}
		switch res.Outcome {
		case claim.Pinned:
			require.Subsetf(t, []string{res.Node}, world.admissible(newValues), "seed %d: pinned to %s, but others are admissible: %+v", seed, res.Node, p)
		case claim.Contradictory:
			require.Emptyf(t, world.admissible(newValues), "seed %d: contradictory (%s), but nodes are admissible: %+v", seed, res.Why, p)
		default:
			require.GreaterOrEqualf(t, len(world.admissible(anyValues)), 2, "seed %d: not pinned (%s), but no second node can be admissible: %+v", seed, res.Why, p)
		}
	}
	t.Logf("pinned %d, not pinned %d, contradictory %d of %d", count[claim.Pinned], count[claim.Unpinned], count[claim.Contradictory], rounds)
	assert.GreaterOrEqual(t, count[claim.Pinned], rounds*30/100, "too few pinned pods to mean anything")
	assert.GreaterOrEqual(t, count[claim.Unpinned], rounds*20/100)
	assert.GreaterOrEqual(t, count[claim.Contradictory], rounds*5/100)
}

// generator makes clusters and pods. A pod has a favourite node, so that its
// constraints often agree and pods are pinned often enough.
type generator struct {
	*rand.Rand
	favourite string
}

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

func oneOf[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

// cluster has up to five Nodes, whose identity labels may differ from the
// name, be absent, or be shared.
func (g *generator) cluster() *claimtest.View {
	v := &claimtest.View{}
	for i := range oneOf(g, 0, 2, 3, 3, 4, 4, 5) {
		id := string(rune('a' + i))
		labels := map[string]string{}
		if g.chance(95) {
			labels[corev1.LabelHostname] = oneOf(g, id, id, id, id, id, id, "shared")
		}
		if g.chance(80) {
			labels[topolvm] = oneOf(g, id, id, id, id, "shared")
		}
		if g.chance(60) {
			labels[corev1.LabelTopologyZone] = oneOf(g, "z1", "z2")
		}
		if g.chance(50) {
			labels["gpus"] = oneOf(g, "1", "4", "8")
		}
		v.Nodes = append(v.Nodes, &claim.Node{Name: "node-" + id, Labels: labels})
	}
	return v
}

func (g *generator) placement() claim.Placement {
	var p claim.Placement
	if g.chance(20) {
		p.NodeName = g.nodeName()
	}
	if g.chance(40) {
		p.NodeSelector = map[string]string{}
		for range oneOf(g, 1, 1, 1, 2) {
			key := oneOf(g, corev1.LabelHostname, corev1.LabelHostname, topolvm, corev1.LabelTopologyZone, "gpus")
			p.NodeSelector[key] = g.value(key)
		}
	}
	if g.chance(70) {
		p.Required = &corev1.NodeSelector{}
		for range oneOf(g, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3) {
			p.Required.NodeSelectorTerms = append(p.Required.NodeSelectorTerms, g.term())
		}
	}
	return p
}

func (g *generator) term() corev1.NodeSelectorTerm {
	var t corev1.NodeSelectorTerm
	if g.chance(50) {
		values := []string{g.nodeName()}
		if g.chance(4) {
			values = append(values, g.nodeName()) // invalid: exactly one is allowed
		}
		t.MatchFields = append(t.MatchFields, corev1.NodeSelectorRequirement{
			Key: metav1.ObjectNameField, Values: values,
			Operator: oneOf(g, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn),
		})
	}
	for range oneOf(g, 0, 1, 1, 2) {
		t.MatchExpressions = append(t.MatchExpressions, g.expression())
	}
	return t
}

func (g *generator) expression() corev1.NodeSelectorRequirement {
	key := oneOf(g, corev1.LabelHostname, corev1.LabelHostname, corev1.LabelHostname, topolvm, corev1.LabelTopologyZone, "gpus")
	q := corev1.NodeSelectorRequirement{Key: key, Operator: oneOf(g,
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
		corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn,
		corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)}
	if g.chance(2) {
		q.Operator = "Bogus"
	}
	switch q.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		for range oneOf(g, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3) { // none is invalid
			q.Values = append(q.Values, g.value(key))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		q.Values = []string{oneOf(g, "0", "3", "4", "x")}
	}
	return q
}

func (g *generator) nodeName() string {
	if g.chance(80) {
		return "node-" + g.favourite
	}
	return oneOf(g, "node-a", "node-b", "node-c", "node-new")
}

func (g *generator) value(key string) string {
	switch key {
	case corev1.LabelTopologyZone:
		return oneOf(g, "z1", "z2")
	case "gpus":
		return oneOf(g, "1", "4", "8", "many")
	default:
		if g.chance(75) {
			return g.favourite
		}
		return oneOf(g, "a", "b", "c", "shared", "ghost", "")
	}
}

// world knows which nodes the scheduler could admit, now or after any addition.
type world struct {
	cluster   *claimtest.View
	placement claim.Placement
}

// values says whether a node that joins may bear a value of an identity label.
type values func(w *world, key, value string) bool

func anyValues(*world, string, string) bool { return true }

// newValues leaves out the values by which exactly one Node is known.
func newValues(w *world, key, value string) bool { return len(w.cluster.NodesByLabel(key, value)) != 1 }

// admissible are the names of the nodes that the scheduler admits once every
// label that is no identity stands as the pod wants it: of those that exist,
// and of nodes that join with new names, or with a name the pod mentions.
func (w *world) admissible(may values) []string {
	var names []string
	for _, term := range w.terms() {
		for _, n := range w.cluster.Nodes {
			free := slices.Clone(otherKeys)
			labels := map[string]string{}
			for _, key := range identityKeys {
				if v, ok := n.Labels[key]; ok {
					labels[key] = v
				}
				if !w.lists(key) { // Exists, Gt and the like exclude nothing: the label may change
					free = append(free, key)
				}
			}
			names = w.try(names, n.Name, labels, free, term, may)
		}
		for _, name := range append(w.newNames(), "joins-1", "joins-2") {
			names = w.try(names, name, map[string]string{}, slices.Concat(otherKeys, identityKeys), term, may)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lists tells whether a term, or the selector, lists or excludes values of a key.
func (w *world) lists(key string) bool {
	_, selected := w.placement.NodeSelector[key]
	return selected || slices.ContainsFunc(w.terms(), func(t corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(t.MatchExpressions, func(q corev1.NodeSelectorRequirement) bool {
			return q.Key == key && (q.Operator == corev1.NodeSelectorOpIn || q.Operator == corev1.NodeSelectorOpNotIn)
		})
	})
}

func (w *world) terms() []corev1.NodeSelectorTerm {
	if w.placement.Required == nil {
		return []corev1.NodeSelectorTerm{{}}
	}
	return w.placement.Required.NodeSelectorTerms
}

// newNames are the nodes that the pod names and that do not exist.
func (w *world) newNames() []string {
	if w.cluster.Node("node-new") == nil {
		return []string{"node-a", "node-b", "node-c", "node-new"}[min(len(w.cluster.Nodes), 3):]
	}
	return nil
}

// try completes a node's labels key by key so that the term and the node
// selector are met, and asks the scheduler's code about the result.
func (w *world) try(names []string, name string, labels map[string]string, free []string, term corev1.NodeSelectorTerm, may values) []string {
	for _, key := range free {
		delete(labels, key)
		for _, v := range []string{"", "a", "b", "c", "d", "e", "shared", "ghost", "fresh-1", "z1", "z2", "1", "2", "3", "4", "5", "8", "9", "-1", "many", "absent"} {
			with := map[string]string{key: v}
			if v == "absent" {
				with = nil
			} else if slices.Contains(identityKeys, key) && !may(w, key, v) {
				continue
			}
			if w.meets(key, with, term) {
				for k, v := range with {
					labels[k] = v
				}
				break
			}
		}
	}
	if (w.placement.NodeName == "" || w.placement.NodeName == name) && w.matches(name, labels) {
		names = append(names, name)
	}
	return names
}

// meets tells whether one label meets what the term and the selector ask of its key.
func (w *world) meets(key string, labels map[string]string, term corev1.NodeSelectorTerm) bool {
	var same corev1.NodeSelectorTerm
	for _, e := range term.MatchExpressions {
		if e.Key == key {
			same.MatchExpressions = append(same.MatchExpressions, e)
		}
	}
	if v, ok := w.placement.NodeSelector[key]; ok {
		if got, has := labels[key]; !has || got != v {
			return false
		}
	}
	if len(same.MatchExpressions) == 0 {
		return true
	}
	s := nodeaffinity.NewLazyErrorNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{same}})
	ok, _ := s.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: labels}})
	return ok
}

func (w *world) matches(name string, labels map[string]string) bool {
	p := w.placement
	ok, _ := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: corev1.PodSpec{
		NodeSelector: p.NodeSelector,
		Affinity:     &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: p.Required}},
	}}).Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	return ok
}

// TestTheWorldIsNotBlind makes sure that the property's own search finds nodes
// where there plainly are some.
func TestTheWorldIsNotBlind(t *testing.T) {
	cluster := &claimtest.View{Nodes: []*claim.Node{{Name: "node-a", Labels: map[string]string{corev1.LabelHostname: "a"}}}}
	for selector, want := range map[string][]string{"": {"joins-1", "joins-2", "node-a", "node-b", "node-c", "node-new"}, "a": {"node-a"}} {
		t.Run(fmt.Sprintf("if the selector is %q", selector), func(t *testing.T) {
			w := &world{cluster: cluster}
			if selector != "" {
				w.placement.NodeSelector = map[string]string{corev1.LabelHostname: selector}
			}
			assert.Equal(t, want, w.admissible(newValues))
		})
	}
}

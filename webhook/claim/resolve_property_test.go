package claim_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	const rounds = 8000
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

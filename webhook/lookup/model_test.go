package lookup

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"berth.dev/berth/webhook/claim"
)

// model is a cluster as plain lists, and answers by looking at every object.
type model struct {
	rules   claim.Rules
	nodes   map[string]claim.Node
	pvcs    map[[2]string]claim.PVC
	pvs     map[string]claim.PV
	classes map[string]claim.StorageClass
}

func newModel(rules claim.Rules) *model {
	return &model{
		rules: rules, nodes: map[string]claim.Node{}, pvcs: map[[2]string]claim.PVC{},
		pvs: map[string]claim.PV{}, classes: map[string]claim.StorageClass{},
	}
}

func (m *model) nodesByLabel(key, value string) []claim.Node {
	var out []claim.Node
	for _, n := range m.nodes {
		if got, ok := n.Labels[key]; ok && got == value && slices.Contains(m.rules.Keys.Identity(), key) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b claim.Node) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (m *model) ofClaim(namespace, name string) []*claim.PVC {
	var out []*claim.PVC
	for _, p := range m.pvcs {
		if p.Namespace == namespace && p.Claim == name && p.IsNodePVC() {
			out = append(out, &p)
		}
	}
	slices.SortFunc(out, func(a, b *claim.PVC) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (m *model) holders(namespace, name string) []string {
	var out []string
	for _, p := range m.ofClaim(namespace, name) {
		if p.Live() {
			out = append(out, p.Node)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// names are what the tests make clusters of: few, so that things collide.
type names struct{ nodes, namespaces, claims, pvcs, pvs, labelKeys, labelValues []string }

func testNames(rules claim.Rules) names {
	return names{
		nodes: []string{"a", "b", "c", "d"}, namespaces: []string{"ml", "lab"}, claims: []string{"", "x", "y"},
		pvcs: []string{"x-a", "x-b", "y-a", "p", "q", "r"}, pvs: []string{"v1", "v2"},
		labelKeys:   append(rules.Keys.Identity()[:2:2], "other"),
		labelValues: []string{"", "a", "b", "same"},
	}
}

// check compares every answer of a View with the model's.
func (m *model) check(t *testing.T, view claim.View, n names) {
	t.Helper()
	m.checkNodes(t, view, n)
	for _, namespace := range n.namespaces {
		for _, name := range n.pvcs {
			want, ok := m.pvcs[[2]string{namespace, name}]
			checkObject(t, view.PVC(namespace, name), want, ok)
		}
		for _, name := range n.claims {
			m.checkClaim(t, view, n, namespace, name)
		}
	}
	for _, name := range n.pvs {
		want, ok := m.pvs[name]
		checkObject(t, view.PV(name), want, ok)
		class, ok := m.classes[name]
		checkObject(t, view.StorageClass(name), class, ok)
		checkObject(t, view.StorageClass(""), m.defaultClass(), m.defaultClass().Name != "")
		assert.Equal(t, m.availablePVs(name), values(view.AvailablePVs(name)))
	}
}

// availablePVs are those of a class that wait for a claim, by name.
func (m *model) availablePVs(class string) []claim.PV {
	var out []claim.PV
	for _, name := range slices.Sorted(maps.Keys(m.pvs)) {
		if v := m.pvs[name]; v.Available && v.StorageClass == class {
			out = append(out, v)
		}
	}
	return out
}

// defaultClass is the newest class that is a default one, then the first by name.
func (m *model) defaultClass() claim.StorageClass {
	var best claim.StorageClass
	for _, name := range slices.Sorted(maps.Keys(m.classes)) {
		if c := m.classes[name]; c.Default && (best.Name == "" || c.Created > best.Created) {
			best = c
		}
	}
	return best
}

func (m *model) checkNodes(t *testing.T, view claim.View, n names) {
	t.Helper()
	for _, name := range n.nodes {
		want, ok := m.nodes[name]
		checkObject(t, view.Node(name), want, ok)
	}
	var all []string
	for node := range view.AllNodes() {
		all = append(all, node.Name)
		assert.Equal(t, m.nodes[node.Name], *node)
	}
	assert.Len(t, all, len(m.nodes))
	for _, key := range n.labelKeys {
		for _, value := range n.labelValues {
			assert.Equal(t, m.nodesByLabel(key, value), values(view.NodesByLabel(key, value)), "%s=%q", key, value)
		}
	}
}

func (m *model) checkClaim(t *testing.T, view claim.View, n names, namespace, name string) {
	t.Helper()
	all := m.ofClaim(namespace, name)
	assert.Equal(t, claim.Summarize(all, m.rules.Names), view.Summary(namespace, name), "summary of %s/%s", namespace, name)
	assert.Equal(t, m.holders(namespace, name), append([]string(nil), view.Holders(namespace, name)...))
	for _, node := range append(n.nodes, "") {
		var want []claim.PVC
		for _, p := range all {
			if p.Node == node {
				want = append(want, *p)
			}
		}
		assert.Equal(t, want, values(view.NodePVCs(namespace, name, node)), "node PVCs of %s/%s for %q", namespace, name, node)
	}
}

func checkObject[V any](t *testing.T, got *V, want V, ok bool) {
	t.Helper()
	if !ok {
		assert.Nil(t, got)
		return
	}
	if assert.NotNil(t, got) {
		assert.Equal(t, want, *got)
	}
}

func values[V any](list []*V) []V {
	var out []V
	for _, v := range list {
		out = append(out, *v)
	}
	return out
}

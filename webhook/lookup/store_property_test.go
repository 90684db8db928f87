package lookup

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

// walk makes random changes to a Store and to a model alike.
type walk struct {
	*rand.Rand
	names names
	store *Store
	model *model
}

func newWalk(seed uint64, rules claim.Rules) *walk {
	return &walk{
		Rand: rand.New(rand.NewPCG(seed, seed)), names: testNames(rules),
		store: NewStore(&rules), model: newModel(rules),
	}
}

func (w *walk) of(list []string) string { return list[w.IntN(len(list))] }

func (w *walk) node() claim.Node {
	n := claim.Node{Name: w.of(w.names.nodes)}
	for _, key := range w.names.labelKeys {
		if w.IntN(3) > 0 {
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			n.Labels[key] = w.of(w.names.labelValues)
		}
	}
	if w.IntN(2) == 0 {
		n.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

func (w *walk) pvc() claim.PVC {
	phases := []corev1.PersistentVolumeClaimPhase{corev1.ClaimBound, corev1.ClaimPending, corev1.ClaimLost}
	return claim.PVC{
		Namespace: w.of(w.names.namespaces), Name: w.of(w.names.pvcs),
		Claim: w.of(w.names.claims), Node: w.of(append(w.names.nodes, "")),
		Revision: w.of([]string{"", "r1", "r2"}), Phase: phases[w.IntN(3)],
		HasPopulated: w.IntN(2) == 0, Deleting: w.IntN(4) == 0, Created: w.Int64N(3),
	}
}

func (w *walk) pv() claim.PV {
	v := claim.PV{Name: w.of(w.names.pvs), Available: w.IntN(2) == 0, StorageClass: w.of(w.names.pvs)}
	if w.IntN(2) == 0 {
		v.Affinity = hostnameAffinity(w.of(w.names.nodes))
	}
	return v
}

func hostnameAffinity(value string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{
			Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{value},
		}},
	}}}
}

// step makes one random change.
func (w *walk) step() {
	switch w.IntN(11) {
	case 0:
		n := w.node()
		w.store.SetNode(&n)
		w.model.nodes[n.Name] = n
	case 1:
		name := w.of(w.names.nodes)
		w.store.DeleteNode(name)
		delete(w.model.nodes, name)
	case 2, 3, 4, 5:
		p := w.pvc()
		w.store.SetPVC(&p)
		w.model.pvcs[[2]string{p.Namespace, p.Name}] = p
	case 6:
		namespace, name := w.of(w.names.namespaces), w.of(w.names.pvcs)
		w.store.DeletePVC(namespace, name)
		delete(w.model.pvcs, [2]string{namespace, name})
	case 7:
		v := w.pv()
		w.store.SetPV(&v)
		w.model.pvs[v.Name] = v
	case 8:
		w.stepSmall()
	default:
		if w.IntN(8) == 0 {
			w.replace()
		}
	}
}

func (w *walk) stepSmall() {
	name := w.of(w.names.pvs)
	switch w.IntN(3) {
	case 0:
		w.store.DeletePV(name)
		delete(w.model.pvs, name)
	case 1:
		c := claim.StorageClass{Name: name, WaitForFirstConsumer: w.IntN(2) == 0, Default: w.IntN(2) == 0, Created: w.Int64N(2)}
		w.store.SetStorageClass(&c)
		w.model.classes[name] = c
	case 2:
		w.store.DeleteStorageClass(name)
		delete(w.model.classes, name)
	}
}

// replace lists everything anew, with the same object twice now and then: the
// last one counts.
func (w *walk) replace() {
	*w.model = *newModel(w.model.rules)
	var nodes []*claim.Node
	var pvcs []*claim.PVC
	var pvs []*claim.PV
	var classes []*claim.StorageClass
	for range w.IntN(8) {
		n, p, v := w.node(), w.pvc(), w.pv()
		c := claim.StorageClass{Name: v.Name, Default: w.IntN(2) == 0}
		nodes, pvcs, pvs, classes = append(nodes, &n), append(pvcs, &p), append(pvs, &v), append(classes, &c)
		w.model.nodes[n.Name], w.model.pvcs[[2]string{p.Namespace, p.Name}] = n, p
		w.model.pvs[v.Name], w.model.classes[c.Name] = v, c
	}
	w.store.ReplaceNodes(nodes)
	w.store.ReplacePVCs(pvcs)
	w.store.ReplacePVs(pvs)
	w.store.ReplaceStorageClasses(classes)
}

func (m *model) clone() *model {
	return &model{
		rules: m.rules, nodes: maps.Clone(m.nodes), pvcs: maps.Clone(m.pvcs),
		pvs: maps.Clone(m.pvs), classes: maps.Clone(m.classes),
	}
}

func TestStoreAnswersLikeAModelAfterEveryChange(t *testing.T) {
	for _, rules := range []claim.Rules{claim.DefaultRules(), claim.GKMRules()} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprintf("template %q, seed %d", rules.Names, seed), func(t *testing.T) {
				t.Parallel()
				w := newWalk(seed, rules)
				var oldView claim.View
				var oldModel *model
				for i := range 200 {
					if i%50 == 0 {
						oldView, oldModel = w.store.View(), w.model.clone()
					}
					w.step()
					w.model.check(t, w.store.View(), w.names)
					if i%10 == 9 {
						oldModel.check(t, oldView, w.names) // a snapshot does not change
					}
					require.False(t, t.Failed(), "step %d", i)
				}
			})
		}
	}
}

func TestStoreKeepsNothingOfWhatIsGone(t *testing.T) {
	w := newWalk(1, claim.DefaultRules())
	for range 300 {
		w.step()
	}
	for _, name := range w.names.nodes {
		w.store.DeleteNode(name)
	}
	for _, name := range w.names.pvcs {
		for _, namespace := range w.names.namespaces {
			w.store.DeletePVC(namespace, name)
		}
	}
	s := w.store.current.Load()
	counts := []int{s.nodes.len(), s.pvcs.len(), s.nodePVCs.len(), s.claims.len()}
	for _, index := range s.labels {
		counts = append(counts, index.nodes.len())
	}
	require.Zero(t, slices.Max(counts))
	for i := range s.pvcs.shards {
		require.Empty(t, s.pvcs.shards[i].hashes)
		require.Empty(t, s.nodePVCs.shards[i].hashes)
	}
}

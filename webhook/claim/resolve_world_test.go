package claim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

// world knows which nodes the scheduler could admit, now or after any addition.
type world struct {
	cluster   *claimtest.View
	placement claim.Placement
}

// values says which identity labels nodes may come to bear.
type values struct {
	may     func(w *world, key, value string) bool // a node that joins
	relabel bool                                   // a node that is there may register again with other ones
}

var anyValues = values{may: func(*world, string, string) bool { return true }, relabel: true}

// newValues leaves out the values by which exactly one Node is known.
var newValues = values{may: func(w *world, key, value string) bool { return len(w.cluster.NodesByLabel(key, value)) != 1 }}

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
				if may.relabel || !w.lists(key) { // Exists, Gt and the like exclude nothing: the label may change
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
			} else if slices.Contains(identityKeys, key) && !may.may(w, key, v) {
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

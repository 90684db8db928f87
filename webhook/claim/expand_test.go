package claim_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

// longNode is a node name too long for a label value.
var longNode = strings.Repeat("n", 60) + ".example.com"

func TestExpandMetadata(t *testing.T) {
	cases := map[string]struct {
		template    claim.Template
		rules       func(*claim.Rules)
		node        string
		name        string
		labels      map[string]string
		annotations map[string]string
	}{
		"claim and node are labels": {
			name: "model-cache-node-a", labels: map[string]string{"berth.dev/claim": model, "berth.dev/node": "node-a"},
		},
		"the template's labels and annotations are kept, its claim, node and revision replaced": {
			template: claim.Template{
				Revision: "v2",
				Labels:   map[string]string{"team": "ml", "berth.dev/claim": "old", "berth.dev/node": "node-z", "berth.dev/revision": "v1"}, Annotations: map[string]string{"note": "x"},
			},
			name:        "model-cache-node-a",
			labels:      map[string]string{"team": "ml", "berth.dev/claim": model, "berth.dev/node": "node-a", "berth.dev/revision": "v2"},
			annotations: map[string]string{"note": "x"},
		},
		"what a cluster wrote goes": {
			template: claim.Template{Annotations: map[string]string{
				"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes", "volume.kubernetes.io/storage-provisioner": "p",
				"kubectl.kubernetes.io/last-applied-configuration": "{}",
			}},
			name: "model-cache-node-a", labels: map[string]string{"berth.dev/claim": model, "berth.dev/node": "node-a"},
		},
		"a selected node becomes the PVC's own": {
			template: claim.Template{Annotations: map[string]string{claim.AnnSelectedNode: "node-z"}},
			name:     "model-cache-node-a", labels: map[string]string{"berth.dev/claim": model, "berth.dev/node": "node-a"},
			annotations: map[string]string{claim.AnnSelectedNode: "node-a"},
		},
		"an annotation that names a node goes, or it would win": {
			template: claim.Template{Annotations: map[string]string{"berth.dev/node": "node-z"}},
			name:     "model-cache-node-a", labels: map[string]string{"berth.dev/claim": model, "berth.dev/node": "node-a"},
		},
		"a node name too long for a label stands in the annotation alone": {
			template: claim.Template{Labels: map[string]string{"berth.dev/node": "node-z"}},
			node:     longNode, name: "model-cache-" + longNode, labels: map[string]string{"berth.dev/claim": model},
			annotations: map[string]string{"berth.dev/node": longNode},
		},
		"sha256: is no label value and is dropped, a digest cut": {
			template: claim.Template{Revision: "sha256:" + strings.Repeat("a", 64)}, rules: named("{claim}-{node}-{revision}"),
			name:   "model-cache-node-a-" + strings.Repeat("a", 60),
			labels: map[string]string{"berth.dev/claim": model, "berth.dev/node": "node-a", "berth.dev/revision": strings.Repeat("a", 60)},
		},
		"a value that says that the PVC is to be filled is kept": {
			template: claim.Template{Annotations: map[string]string{"berth.dev/populated": "false"}},
			name:     "model-cache-node-a", labels: map[string]string{"berth.dev/claim": model, "berth.dev/node": "node-a"},
			annotations: map[string]string{"berth.dev/populated": "false"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rules := claim.DefaultRules()
			if tc.rules != nil {
				tc.rules(&rules)
			}
			if tc.node == "" {
				tc.node = "node-a"
			}
			if tc.annotations == nil {
				tc.annotations = map[string]string{}
			}
			tc.template.Claim, tc.template.Namespace = model, ns
			got, errs := claim.Expand(&rules, []claim.Template{tc.template}, []string{tc.node})
			require.NoError(t, errors.Join(errs...))
			assert.Equal(t, []claim.NodePVC{{Node: tc.node, Namespace: ns, Name: tc.name, Labels: tc.labels, Annotations: tc.annotations}}, got)
		})
	}
}

func named(template claim.NameTemplate) func(*claim.Rules) {
	return func(r *claim.Rules) { r.Names = template }
}

func TestExpandOrder(t *testing.T) {
	rules := claim.DefaultRules()
	templates := []claim.Template{{Claim: "weights"}, {Claim: "cache"}}
	nodes := []string{"b", "c", "a"}
	got, errs := claim.Expand(&rules, templates, nodes)
	require.Empty(t, errs)
	var names []string
	for _, pvc := range got {
		names = append(names, pvc.Name)
		assert.Equal(t, templates[pvc.Template].Claim, pvc.Labels["berth.dev/claim"])
	}
	assert.Equal(t, []string{"weights-a", "weights-b", "weights-c", "cache-a", "cache-b", "cache-c"}, names)
	assert.Equal(t, []string{"b", "c", "a"}, nodes, "the caller's stay")
}

func TestExpandErrors(t *testing.T) {
	cases := map[string]struct {
		templates []claim.Template
		rules     func(*claim.Rules)
		nodes     []string
		says      string
	}{
		"a PVC name over 253 characters names the node": {
			templates: []claim.Template{{Claim: model}}, nodes: []string{strings.Repeat("n", 242)}, says: `node "nnn`,
		},
		"and says how long it is": {
			templates: []claim.Template{{Claim: model}}, nodes: []string{strings.Repeat("n", 242)}, says: "it has 254 characters, and a PVC name may have 253",
		},
		"a claim that makes no PVC name": {templates: []claim.Template{{Claim: "Model_Cache"}}, says: "can't name a PVC"},
		"a claim that is no label value": {templates: []claim.Template{{Claim: "a b"}}, says: `claim "a b" is no label value`},
		"no claim":                       {templates: []claim.Template{{}}, says: `claim "" is no label value`},
		"two nodes that give one name": {
			templates: []claim.Template{{Claim: "a"}, {Claim: "a-b"}}, nodes: []string{"b-c", "c"},
			says: `PVC "a-b-c" would be claim "a" on node "b-c" and claim "a-b" on node "c"`,
		},
		"one template twice":             {templates: []claim.Template{{Claim: "a"}, {Claim: "a"}}, says: `PVC "a-node-a" would be claim "a" on node "node-a" and claim "a" on node "node-a"`},
		"a revision that is no label":    {templates: []claim.Template{{Claim: "a", Revision: "a/b"}}, says: `revision "a/b" is no label value`},
		"a revision too long and no hex": {templates: []claim.Template{{Claim: "a", Revision: strings.Repeat("z", 64)}}, says: "is no label value"},
		"a name that needs a revision":   {templates: []claim.Template{{Claim: "a"}}, rules: named("{claim}-{node}-{revision}"), says: "and none is given"},
		"no name template":               {templates: []claim.Template{{Claim: "a"}}, rules: named(""), says: "the name template is empty"},
		"one volume for two nodes":       {templates: []claim.Template{{Claim: "a", VolumeName: "pv"}}, nodes: []string{"x", "y"}, says: `spec.volumeName "pv"`},
		"a template that is filled":      {templates: []claim.Template{{Claim: "a", Annotations: map[string]string{"berth.dev/populated": "true"}}}, says: "no new PVC is filled"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rules := claim.DefaultRules()
			if tc.rules != nil {
				tc.rules(&rules)
			}
			if tc.nodes == nil {
				tc.nodes = []string{"node-a"}
			}
			got, errs := claim.Expand(&rules, tc.templates, tc.nodes)
			assert.Nil(t, got)
			require.Len(t, errs, 1)
			assert.ErrorContains(t, errs[0], tc.says)
		})
	}
	t.Run("one volume for one node is fine", func(t *testing.T) {
		rules := claim.DefaultRules()
		got, errs := claim.Expand(&rules, []claim.Template{{Claim: "a", VolumeName: "pv"}}, []string{"x"})
		assert.Empty(t, errs)
		assert.Len(t, got, 1)
	})
}

// TestExpandGivesWhatPodsWaitFor: where a pod pends, on the name that Choose
// gives, expand makes just that PVC; and once it is bound, Choose takes it.
func TestExpandGivesWhatPodsWaitFor(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	const letters = "abz09-"
	word := func(longest int) string {
		b := []byte{letters[random.IntN(5)]}
		for range random.IntN(longest) {
			b = append(b, letters[random.IntN(len(letters))])
		}
		return string(append(b, 'x'))
	}
	revisions := []string{"", "v1", "sha256:abc", "sha256:" + strings.Repeat("0a", 32), strings.Repeat("b", 60)}
	names := []claim.NameTemplate{claim.DefaultNameTemplate, "{node}.{claim}", "{claim}-{revision}-{node}", "pvc-{node}-{claim}-x"}
	pended := 0
	for range 3000 {
		need := claim.Need{Namespace: ns, Claim: word(61), Node: word(40) + "." + word(40), Revision: revisions[random.IntN(len(revisions))]}
		rules := claim.DefaultRules()
		rules.Missing, rules.Names = claim.MissingPend, names[random.IntN(len(names))]
		choice := claim.Choose(claim.NewReads(&claimtest.View{Names: rules.Names}, &rules, nil), need)
		got, errs := claim.Expand(&rules, []claim.Template{{Namespace: ns, Claim: need.Claim, Revision: need.Revision}}, []string{need.Node})
		if !choice.Pended {
			continue
		}
		pended++
		require.Empty(t, errs, "%+v", need)
		require.Equal(t, choice.PVC, got[0].Name, "%+v", need)
		made := bound(got[0], &rules)
		assert.True(t, rules.Names.Gives(made), "its name stays predictable: %+v", need)
		after := claim.Choose(claim.NewReads(&claimtest.View{PVCs: []*claim.PVC{made}, Names: rules.Names}, &rules, nil), need)
		require.Nil(t, after.Refusal, "%+v", need)
		assert.Equal(t, choice.PVC, after.PVC)
		assert.False(t, after.Pended)
	}
	assert.Greater(t, pended, 500, "the test must see pods that wait")
}

// bound is a node PVC as Berth reads it from the cluster once it is bound.
func bound(n claim.NodePVC, rules *claim.Rules) *claim.PVC {
	c := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}
	c.Namespace, c.Name, c.Labels, c.Annotations = n.Namespace, n.Name, n.Labels, n.Annotations
	return claim.NewPVC(c, &rules.Keys)
}

func TestRepels(t *testing.T) {
	for effect, want := range map[corev1.TaintEffect]bool{
		corev1.TaintEffectNoSchedule: true, corev1.TaintEffectNoExecute: true, corev1.TaintEffectPreferNoSchedule: false,
	} {
		n := &claim.Node{Taints: []corev1.Taint{{Key: "k", Effect: effect}}}
		assert.Equal(t, want, n.Repels(), effect)
	}
	assert.False(t, node("node-a").Repels())
}

func TestUnmatched(t *testing.T) {
	elsewhere := pvc("elsewhere", "gone")
	elsewhere.Namespace = "other"
	other := pvc("other-claim", "gone")
	other.Claim = "weights"
	all := []*claim.PVC{
		pvc("z-gone", "gone"), pvc("kept", "node-a"), pvc("a-lost", "gone", lost), pvc("going", "gone", deleting),
		pvc("no-node-pvc", "", plain), elsewhere, other,
	}
	var got []string
	for _, p := range claim.Unmatched(all, []claim.Template{{Namespace: ns, Claim: model}}, []string{"node-a", "node-b"}) {
		got = append(got, p.Name)
	}
	assert.Equal(t, []string{"a-lost", "z-gone"}, got)
}

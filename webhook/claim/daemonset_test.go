package claim_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

func TestDaemonSetNodes(t *testing.T) {
	taint := func(name, key string, effect corev1.TaintEffect) *claim.Node {
		n := node(name)
		n.Taints = []corev1.Taint{{Key: key, Value: "true", Effect: effect}}
		return n
	}
	v := &claimtest.View{Nodes: []*claim.Node{
		node("plain", "zone=z1"), taint("gpu", "gpu", corev1.TaintEffectNoSchedule), taint("leaving", "leaving", corev1.TaintEffectNoExecute),
		taint("rather-not", "x", corev1.TaintEffectPreferNoSchedule), taint("cordoned", corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
		taint("not-ready", corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute), taint("no-network", corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule),
	}}
	always := []string{"cordoned", "not-ready", "plain", "rather-not"}
	for what, c := range map[string]struct {
		p           claim.Placement
		tolerations []corev1.Toleration
		hostNetwork bool
		want        []string
	}{
		"if it tolerates nothing, what the controller tolerates":   {want: always},
		"if it is on the host's network, nodes without one, too":   {hostNetwork: true, want: []string{"cordoned", "no-network", "not-ready", "plain", "rather-not"}},
		"if it tolerates a taint by value, that node, too":         {tolerations: []corev1.Toleration{{Key: "gpu", Value: "true"}}, want: []string{"cordoned", "gpu", "not-ready", "plain", "rather-not"}},
		"if it tolerates the taint with another value, not":        {tolerations: []corev1.Toleration{{Key: "gpu", Value: "false"}}, want: always},
		"if it tolerates another effect, not":                      {tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}, want: always},
		"if it tolerates everything, every node":                   {tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, want: []string{"cordoned", "gpu", "leaving", "no-network", "not-ready", "plain", "rather-not"}},
		"if a selector narrows it, what matches today":             {p: claim.Placement{NodeSelector: selector("zone", "z1")}, want: []string{"plain"}},
		"if affinity narrows it, what matches":                     {p: claim.Placement{Required: required(name("plain"))}, want: []string{"plain"}},
		"if nodeName narrows it, that node":                        {p: claim.Placement{NodeName: "cordoned"}, want: []string{"cordoned"}},
		"if a toleration compares a value that is no number, none": {tolerations: []corev1.Toleration{{Key: "gpu", Operator: "Gt", Value: "x"}}, want: always},
	} {
		t.Run(what, func(t *testing.T) {
			rules := claim.DefaultRules()
			assert.Equal(t, c.want, claim.DaemonSetNodes(claim.NewReads(v, &rules, nil), c.p, c.tolerations, c.hostNetwork))
		})
	}
}

func TestStateOn(t *testing.T) {
	for what, c := range map[string]struct {
		pvcs  []*claim.PVC
		need  claim.Need
		state claim.State
		pvc   string
	}{
		"if a bound PVC serves it, Ready":                {pvcs: []*claim.PVC{pvc("x", "node-a")}, state: claim.StateReady, pvc: "x"},
		"if it is not bound, Pending":                    {pvcs: []*claim.PVC{pvc("x", "node-a", pending)}, state: claim.StatePending, pvc: "x"},
		"if it is not filled, Unfilled":                  {pvcs: []*claim.PVC{pvc("x", "node-a", populated("no"))}, state: claim.StateUnfilled, pvc: "x"},
		"if only one that goes is there, Deleting":       {pvcs: []*claim.PVC{pvc("x", "node-a", deleting)}, state: claim.StateDeleting, pvc: "x"},
		"if only one without a volume is there, Lost":    {pvcs: []*claim.PVC{pvc("x", "node-a", lost)}, state: claim.StateLost, pvc: "x"},
		"if two are there, Ambiguous":                    {pvcs: []*claim.PVC{pvc("x", "node-a"), pvc("y", "node-a")}, state: claim.StateAmbiguous},
		"if scopes differ, Ambiguous":                    {pvcs: []*claim.PVC{pvc("x", "node-a", scope("s"), revision("1"), created(9000)), pvc("y", "node-a")}, state: claim.StateAmbiguous},
		"if none is there, Missing":                      {pvcs: []*claim.PVC{pvc("x", "node-b")}, state: claim.StateMissing},
		"if only another revision is there, Missing":     {pvcs: []*claim.PVC{pvc("x", "node-a", revision("1"))}, need: claim.Need{Revision: "2"}, state: claim.StateMissing},
		"if several revisions are ready, the newest one": {pvcs: []*claim.PVC{pvc("x", "node-a", revision("1")), pvc("y", "node-a", revision("2"), created(9000))}, state: claim.StateReady, pvc: "y"},
	} {
		t.Run(what, func(t *testing.T) {
			rules := claim.DefaultRules()
			c.need.Namespace, c.need.Claim, c.need.Node = ns, model, "node-a"
			state, name := claim.StateOn(claim.NewReads(view(c.pvcs...), &rules, nil), c.need)
			assert.Equal(t, c.state, state)
			assert.Equal(t, c.pvc, name)
		})
	}
}

func TestDefaultClass(t *testing.T) {
	def := func(name string, at int64) *claim.StorageClass {
		return &claim.StorageClass{Name: name, Default: true, Created: at}
	}
	for what, c := range map[string]struct {
		classes []*claim.StorageClass
		want    string
	}{
		"if none is annotated, there is none":         {classes: []*claim.StorageClass{{Name: "x"}}},
		"if one is, it":                               {classes: []*claim.StorageClass{{Name: "x"}, def("y", 1)}, want: "y"},
		"if several are, the newest":                  {classes: []*claim.StorageClass{def("x", 1), def("y", 2), def("a", 1)}, want: "y"},
		"if they are of one second, the first's name": {classes: []*claim.StorageClass{def("y", 1), def("x", 1)}, want: "x"},
	} {
		t.Run(what, func(t *testing.T) {
			got := claim.DefaultClass(slices.Values(c.classes))
			if c.want == "" {
				assert.Nil(t, got)
				return
			}
			assert.Equal(t, c.want, got.Name)
		})
	}
}

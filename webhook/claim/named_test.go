package claim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/claim"
)

func TestCheckUnpinned(t *testing.T) {
	for what, c := range map[string]struct {
		pvc    *claim.PVC
		pvs    []*claim.PV
		reason claim.Reason
		warns  string
	}{
		"if the PV ties it to one node, it passes in silence":             {pvc: pvc("x", "node-a"), pvs: []*claim.PV{pv("x", host("a"))}},
		"if the PV has no affinity, it passes with a warning":             {pvc: pvc("x", "node-a"), pvs: []*claim.PV{pv("x")}, warns: "any node"},
		"if the PV is tied by matchFields only, it passes with a warning": {pvc: pvc("x", "node-a"), pvs: []*claim.PV{pv("x", name("node-a"))}, warns: "not tied to one node"},
		"if the PV allows two nodes, it passes with a warning":            {pvc: pvc("x", "node-a"), pvs: []*claim.PV{pv("x", host("a", "b"))}, warns: "not tied to one node"},
		"if the PV is not known, it passes with a warning":                {pvc: pvc("x", "node-a"), warns: "not known"},
		"if it waits for a consumer, it is refused":                       {pvc: pvc("x", "node-a", wffc), reason: claim.UnboundNodePVC},
		"if it waits for a consumer and selected-node is set, it passes":  {pvc: pvc("x", "node-a", wffc, selected("node-a"))},
		"if it is unbound and Immediate, it passes":                       {pvc: pvc("x", "node-a", pending)},
		"if it is unfilled, it passes: the pod may be filling it":         {pvc: pvc("x", "node-a", populated("false")), pvs: []*claim.PV{pv("x", host("a"))}},
		"if it is being deleted, it passes with a warning":                {pvc: pvc("x", "node-a", deleting), pvs: []*claim.PV{pv("x", host("a"))}, warns: "being deleted"},
		"if it is Lost, it passes with a warning":                         {pvc: pvc("x", "node-a", lost), warns: "Lost"},
		"if it is to be provisioned on another node, with a warning":      {pvc: pvc("x", "node-a", wffc, selected("node-b")), warns: `on node "node-b"`},
		"if it is promised to a volume, the PV controller binds it":       {pvc: pvc("x", "node-a", wffc, func(p *claim.PVC) { p.VolumeName = "pv" })},
	} {
		t.Run(what, func(t *testing.T) {
			rules := claim.DefaultRules()
			v := view(c.pvc)
			v.PVs = c.pvs
			warning, refusal := claim.CheckUnpinned(claim.NewReads(v, &rules, nil), c.pvc)
			if c.reason != "" {
				require.NotNil(t, refusal)
				assert.Equal(t, c.reason, refusal.Reason)
				return
			}
			require.Nil(t, refusal)
			if c.warns == "" {
				assert.Empty(t, warning)
			}
			assert.Contains(t, warning, c.warns)
		})
	}
}

func TestCheckPinned(t *testing.T) {
	rules := claim.DefaultRules()
	check := func(p *claim.PVC, nodeName bool) string {
		return claim.CheckPinned(claim.NewReads(view(p), &rules, nil), p, nodeName)
	}
	assert.Contains(t, check(pvc("x", "node-a", wffc), true), "never binds")
	assert.Empty(t, check(pvc("x", "node-a", wffc), false), "the scheduler binds it")
	assert.Empty(t, check(pvc("x", "node-a", populated("false")), true), "never judged for readiness")
}

package claim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/claim"
)

func TestStatesAndWhoMustAct(t *testing.T) {
	cases := map[string]struct {
		pvcs  []*claim.PVC
		want  claim.State
		pvc   string
		needs bool // somebody must act
	}{
		"bound is ready":                           {pvcs: []*claim.PVC{pvc("p", "node-a")}, want: claim.StateReady, pvc: "p"},
		"not bound is pending":                     {pvcs: []*claim.PVC{pvc("p", "node-a", pending)}, want: claim.StatePending, pvc: "p"},
		"being filled is unfilled":                 {pvcs: []*claim.PVC{pvc("p", "node-a", populated("false"))}, want: claim.StateUnfilled, pvc: "p"},
		"being deleted":                            {pvcs: []*claim.PVC{pvc("p", "node-a", deleting)}, want: claim.StateDeleting, pvc: "p"},
		"lost needs somebody":                      {pvcs: []*claim.PVC{pvc("p", "node-a", lost)}, want: claim.StateLost, pvc: "p", needs: true},
		"two of one revision are ambiguous":        {pvcs: []*claim.PVC{pvc("p", "node-a"), pvc("q", "node-a")}, want: claim.StateAmbiguous, needs: true},
		"two of different scope are ambiguous":     {pvcs: []*claim.PVC{pvc("p", "node-a", scope("x")), pvc("q", "node-a", scope("y"), revision("2"), created(2000))}, want: claim.StateAmbiguous, needs: true},
		"another node's is missing here":           {pvcs: []*claim.PVC{pvc("p", "node-b")}, want: claim.StateMissing, needs: true},
		"a live one wins over a dead one":          {pvcs: []*claim.PVC{pvc("a", "node-a", lost), pvc("p", "node-a")}, want: claim.StateReady, pvc: "p"},
		"the newest of several revisions is ready": {pvcs: []*claim.PVC{pvc("p", "node-a", revision("2"), created(2000)), pvc("q", "node-a", revision("1"))}, want: claim.StateReady, pvc: "p"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rules := claim.DefaultRules()
			state, got := claim.StateOn(claim.NewReads(view(tc.pvcs...), &rules, nil), claim.Need{Namespace: ns, Claim: model, Node: "node-a"})
			assert.Equal(t, tc.want, state)
			assert.Equal(t, tc.pvc, got)
			assert.Equal(t, tc.needs, state.NeedsAction())
			assert.Contains(t, claim.States(), state)
		})
	}
}

func TestMisplaced(t *testing.T) {
	cases := map[string]struct {
		pvc    *claim.PVC
		pv     *claim.PV
		reason claim.Reason
	}{
		"a volume of the node":                     {pvc: pvc("p", "node-a"), pv: pv("p", host("a"))},
		"a volume for any node":                    {pvc: pvc("p", "node-a"), pv: pv("p")},
		"a volume of another node":                 {pvc: pvc("p", "node-a"), pv: pv("p", host("b")), reason: claim.VolumeOnAnotherNode},
		"a volume that is not known tells nothing": {pvc: pvc("p", "node-a")},
		"to be provisioned on the node":            {pvc: pvc("p", "node-a", wffc, selected("node-a"))},
		"to be provisioned on another":             {pvc: pvc("p", "node-a", wffc, selected("node-b")), reason: claim.SelectedOtherNode},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rules := claim.DefaultRules()
			v := view(tc.pvc)
			if tc.pv != nil {
				v.PVs = append(v.PVs, tc.pv)
			}
			got := claim.Misplaced(claim.NewReads(v, &rules, nil), tc.pvc)
			if tc.reason == "" {
				assert.Nil(t, got)
				return
			}
			require.NotNil(t, got)
			assert.Equal(t, tc.reason, got.Reason)
		})
	}
}

func TestStatesAreEachThereOnce(t *testing.T) {
	seen := map[claim.State]bool{}
	for _, s := range claim.States() {
		assert.False(t, seen[s], s)
		seen[s] = true
	}
	assert.Len(t, seen, 7)
}

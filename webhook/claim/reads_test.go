package claim_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

func TestReadsLaysLiveFactsOverTheView(t *testing.T) {
	rules := claim.DefaultRules()
	cached := view(pvc("old", "node-a"))
	cached.PVs = []*claim.PV{{Name: "pv"}}
	live := &claimtest.View{
		Nodes: []*claim.Node{node("node-a", "kubernetes.io/hostname=renamed"), node("node-new")},
		PVCs:  []*claim.PVC{pvc("new", "node-a"), pvc("lost", "node-b", lost)}, Names: rules.Names,
	}
	questions := []claim.Question{
		{Kind: claim.AskNode, Name: "node-b"},
		{Kind: claim.AskNodesByLabel, Name: corev1.LabelHostname, Value: "renamed"},
		{Kind: claim.AskPVC, Namespace: ns, Name: "new"},
		{Kind: claim.AskClaim, Namespace: ns, Name: model},
		{Kind: claim.AskPV, Name: "pv"},
		{Kind: claim.AskStorageClass, Name: "wffc"},
	}
	facts := claim.Facts{}
	for _, q := range questions {
		facts[q] = live.Answer(q)
	}
	r := claim.NewReads(cached, &rules, facts)

	assert.Nil(t, r.Node("node-b"), "gone since")
	assert.NotNil(t, r.Node("node-c"), "not read live, so as the view has it")
	assert.Len(t, r.NodesByLabel(corev1.LabelHostname, "renamed"), 1)
	assert.NotNil(t, r.PVC(ns, "new"))
	assert.Equal(t, "new", r.NodePVCs(ns, model, "node-a")[0].Name)
	assert.Empty(t, r.NodePVCs(ns, model, "node-c"))
	assert.Equal(t, claim.Summary{Total: 2, Live: 1, Revisions: 1}, r.Summary(ns, model))
	assert.Equal(t, []string{"node-a"}, r.Holders(ns, model))
	assert.Nil(t, r.PV("pv"))
	assert.Nil(t, r.StorageClass("wffc"))
}

func TestReadsRemembersWhatToReadLive(t *testing.T) {
	rules := claim.DefaultRules()
	asked := claim.Question{Kind: claim.AskPV, Name: "a"}
	settled := claim.Question{Kind: claim.AskPV, Name: "b"}
	r := claim.NewReads(view(), &rules, claim.Facts{settled: {}})
	r.PV("a")
	r.PV("a")
	r.PV("b")
	assert.Empty(t, r.Unsettled(), "asking alone is no doubt: a hit costs no call")
	r.DoubtAll()
	r.Doubt(asked)
	assert.Equal(t, []claim.Question{asked}, r.Unsettled(), "each once, and none that is live already")
}

func TestSummarize(t *testing.T) {
	pvcs := []*claim.PVC{
		pvc("model-cache-node-a", "node-a", revision("1")),
		pvc("odd", "node-b", revision("2"), populated("false")),
		pvc("model-cache-node-c", "node-c", revision("3"), lost),
		pvc("model-cache", ""), // a serving PVC: the claim label, and no node
	}
	assert.Equal(t, claim.Summary{Total: 3, Live: 2, Named: 1, Populated: 1, Revisions: 2}, claim.Summarize(pvcs, claim.DefaultNameTemplate))
	slices.Reverse(pvcs)
	assert.Equal(t, claim.Summary{Total: 3, Live: 2, Populated: 1, Revisions: 2}, claim.Summarize(pvcs, ""))
}

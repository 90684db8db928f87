package webhook

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

// lagging is a cluster of which the informers see an older state.
type lagging struct{ cached, live *claimtest.View }

func (l lagging) View() claim.View { return l.cached }

// lagPod is a pod for the cases below, as JSON.
type lagPod struct {
	node, nodeName, host, claim string
	annotations                 string
}

func (p lagPod) body() []byte {
	spec := map[string]any{"volumes": []any{map[string]any{"name": "v", "persistentVolumeClaim": map[string]any{"claimName": p.claim}}}}
	if p.nodeName != "" {
		spec["nodeName"] = p.nodeName
	}
	if p.host != "" {
		spec["nodeSelector"] = map[string]any{corev1.LabelHostname: p.host}
	}
	if p.node != "" {
		spec["affinity"] = json.RawMessage(fmt.Sprintf(`{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":[%q]}]}]}}}`, p.node))
	}
	body, _ := json.Marshal(map[string]any{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": map[string]any{
		"uid": "u", "namespace": "ml", "operation": "CREATE", "resource": map[string]any{"version": "v1", "resource": "pods"},
		"object": map[string]any{"kind": "Pod", "metadata": json.RawMessage(`{"annotations":{` + p.annotations + `}}`), "spec": spec},
	}})
	return body
}

func lagNode(name, host string) *claim.Node {
	return &claim.Node{Name: name, Labels: map[string]string{corev1.LabelHostname: host}}
}

func lagPVC(name, node string, change ...func(*claim.PVC)) *claim.PVC {
	p := &claim.PVC{Namespace: "ml", Name: name, Claim: "model", Node: node, Phase: corev1.ClaimBound, VolumeName: "pv-" + name}
	for _, c := range change {
		c(p)
	}
	return p
}

func lagPV(of, host string) *claim.PV {
	return &claim.PV{Name: "pv-" + of, Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host}}},
	}}}}
}

// settled is a cluster at rest: two nodes, a node PVC and a PV on each.
func settled() *claimtest.View {
	return &claimtest.View{
		Nodes: []*claim.Node{lagNode("node-a", "a"), lagNode("node-b", "b")},
		PVCs:  []*claim.PVC{lagPVC("model-node-a", "node-a"), lagPVC("model-node-b", "node-b"), {Namespace: "ml", Name: "scratch", Phase: corev1.ClaimBound}},
		PVs:   []*claim.PV{lagPV("model-node-a", "a"), lagPV("model-node-b", "b")}, Names: claim.DefaultNameTemplate,
	}
}

func waiting(p *claim.PVC) {
	p.Phase, p.VolumeName, p.StorageClass = corev1.ClaimPending, "", "wffc"
}

func class(waits bool) []*claim.StorageClass {
	return []*claim.StorageClass{{Name: "wffc", Provisioner: "p", WaitForFirstConsumer: waits}}
}

// TestALaggingCacheIsNeverTheLastWord: in every case below the cache would
// give another answer than the cluster, and the cluster's is given.
func TestALaggingCacheIsNeverTheLastWord(t *testing.T) {
	onA := lagPod{node: "node-a", claim: "model"}
	for what, c := range map[string]struct {
		pod          lagPod
		cached, live func(*claimtest.View) // how each differs from the cluster at rest
		reason       claim.Reason
		pvc          string // what the claim is rewritten to; "" for no patch
	}{
		"if the node PVC is newer, it is found":                       {pod: onA, cached: func(v *claimtest.View) { v.PVCs = v.PVCs[1:] }, pvc: "model-node-a"},
		"if the claim's first node PVC is newer, it is found":         {pod: onA, cached: func(v *claimtest.View) { v.PVCs = nil }, pvc: "model-node-a"},
		"if the claim's first node PVC is newer and the pod is free":  {pod: lagPod{claim: "model"}, cached: func(v *claimtest.View) { v.PVCs = nil }, reason: claim.NotPinned},
		"if the PVC that a volume names is newer, and another node's": {pod: lagPod{node: "node-b", claim: "model-node-a"}, cached: func(v *claimtest.View) { v.PVCs = v.PVCs[1:] }, reason: claim.OtherNodesPVC},
		"if the Node is newer, its hostname pins":                     {pod: lagPod{host: "a", claim: "model"}, cached: func(v *claimtest.View) { v.Nodes = v.Nodes[1:] }, pvc: "model-node-a"},
		"if the Node is newer, the volume is held against it":         {pod: onA, cached: func(v *claimtest.View) { v.Nodes = nil; v.PVs[0] = lagPV("model-node-a", "b") }, live: func(v *claimtest.View) { v.PVs[0] = lagPV("model-node-a", "b") }, reason: claim.VolumeOnAnotherNode},
		"if the PV is newer, it is held against the node":             {pod: onA, cached: func(v *claimtest.View) { v.PVs = nil }, live: func(v *claimtest.View) { v.PVs[0] = lagPV("model-node-a", "b") }, reason: claim.VolumeOnAnotherNode},
		"if the StorageClass is newer, its binding mode counts":       {pod: lagPod{nodeName: "node-a", claim: "model"}, cached: func(v *claimtest.View) { waiting(v.PVCs[0]) }, live: func(v *claimtest.View) { waiting(v.PVCs[0]); v.Classes = class(true) }, reason: claim.NeverBinds},
		"if the StorageClass was replaced, the new one counts":        {pod: lagPod{nodeName: "node-a", claim: "model"}, cached: func(v *claimtest.View) { waiting(v.PVCs[0]); v.Classes = class(true) }, live: func(v *claimtest.View) { waiting(v.PVCs[0]); v.Classes = class(false) }, pvc: "model-node-a"},
		"if a twin was deleted, the other is taken":                   {pod: onA, cached: func(v *claimtest.View) { v.PVCs = append(v.PVCs, lagPVC("twin", "node-a")) }, pvc: "model-node-a"},
		"if the last node PVC was deleted, the pod passes":            {pod: lagPod{claim: "model"}, live: func(v *claimtest.View) { v.PVCs = nil }},
		"if the Node that shared a hostname was deleted, it pins":     {pod: lagPod{host: "a", claim: "model"}, cached: func(v *claimtest.View) { v.Nodes = append(v.Nodes, lagNode("node-c", "a")) }, pvc: "model-node-a"},
		"if the PV was replaced, the new one counts":                  {pod: onA, cached: func(v *claimtest.View) { v.PVs[0] = lagPV("model-node-a", "b") }, pvc: "model-node-a"},
		"if the PVC was relabelled to this node, it is found":         {pod: onA, cached: func(v *claimtest.View) { v.PVCs[0] = lagPVC("model-node-a", "node-x") }, pvc: "model-node-a"},
		"if the PVC was relabelled to another claim, it is not":       {pod: onA, cached: func(v *claimtest.View) { v.PVCs = append(v.PVCs[1:], lagPVC("x", "node-a"), lagPVC("y", "node-a")) }, live: func(v *claimtest.View) { v.PVCs[0].Claim = "other" }, reason: claim.NoNodePVC},
		"if a Node was relabelled, the hostname is the new one": {pod: lagPod{host: "new", claim: "model"}, live: func(v *claimtest.View) {
			v.Nodes[0] = lagNode("node-a", "new")
			v.PVs[0] = lagPV("model-node-a", "new")
		}, cached: func(v *claimtest.View) { v.PVs[0] = lagPV("model-node-a", "new") }, pvc: "model-node-a"},
		"if a Node was relabelled, its volume is held against it":    {pod: lagPod{host: "new", claim: "model"}, live: func(v *claimtest.View) { v.Nodes[0] = lagNode("node-a", "new") }, reason: claim.VolumeOnAnotherNode},
		"if the PVC is bound since, it is taken":                     {pod: lagPod{nodeName: "node-a", claim: "model"}, cached: func(v *claimtest.View) { waiting(v.PVCs[0]); v.Classes = class(true) }, pvc: "model-node-a"},
		"if the PVC is filled since, it is taken":                    {pod: onA, cached: func(v *claimtest.View) { v.PVCs[0].HasPopulated = true }, pvc: "model-node-a"},
		"if the PVC is Lost in the cache only, it is taken":          {pod: onA, cached: func(v *claimtest.View) { v.PVCs[0].Phase = corev1.ClaimLost }, pvc: "model-node-a"},
		"if a sibling with another name is newer, nothing is pended": {pod: lagPod{node: "node-c", claim: "model"}, live: func(v *claimtest.View) { v.PVCs = append(v.PVCs, lagPVC("odd", "node-d")) }, reason: claim.NoNodePVC},
		"if a PVC of the pended name is newer, nothing is pended": {pod: lagPod{node: "node-c", claim: "model"}, live: func(v *claimtest.View) {
			v.PVCs = append(v.PVCs, &claim.PVC{Namespace: "ml", Name: "model-node-c"})
		}, reason: claim.NoNodePVC},
	} {
		t.Run(what, func(t *testing.T) {
			l := lagging{settled(), settled()}
			for view, change := range map[*claimtest.View]func(*claimtest.View){l.cached: c.cached, l.live: c.live} {
				if change != nil {
					change(view)
				}
			}
			r := &reader{answer: l.live.Answer}
			rules := claim.DefaultRules()
			_, out, err := NewPipeline(l, &rules, r).Review(t.Context(), admission.Mutate, c.pod.body(), time.Now().Add(time.Minute))
			require.NoError(t, err)
			require.Equal(t, c.reason, out.Decision.Reason, out.Decision.Message)
			assert.NotEmpty(t, r.calls, "the cache alone would have answered")
			got := ""
			if len(out.Decision.Patch) > 0 {
				got = fmt.Sprint(out.Decision.Patch[0].Value)
			}
			assert.Equal(t, c.pvc, got)
		})
	}
}

// TestAHitCostsNoLiveRead counts the calls of what a busy cluster asks most.
func TestAHitCostsNoLiveRead(t *testing.T) {
	for what, c := range map[string]struct {
		pod  lagPod
		road admission.Road
	}{
		"if a DaemonSet's pod is rewritten":       {lagPod{node: "node-a", claim: "model"}, admission.Mutate},
		"if a hostname pins":                      {lagPod{host: "b", claim: "model"}, admission.Mutate},
		"if the volume is this node's already":    {lagPod{node: "node-a", claim: "model-node-a"}, admission.Mutate},
		"if the twin sees the final pod":          {lagPod{node: "node-a", claim: "model-node-a"}, admission.Validate},
		"if the volume is an ordinary PVC":        {lagPod{claim: "scratch"}, admission.Mutate},
		"if a free pod names a node PVC":          {lagPod{claim: "model-node-b"}, admission.Mutate},
		"if the pod was pinned by spec.nodeName":  {lagPod{nodeName: "node-b", claim: "model"}, admission.Mutate},
		"if Berth wrote another node's PVC first": {lagPod{node: "node-b", claim: "model-node-a", annotations: `"berth.dev/node-pvcs":"model=model-node-a"`}, admission.Mutate},
	} {
		t.Run(what, func(t *testing.T) {
			l := lagging{settled(), settled()}
			r := &reader{answer: l.live.Answer}
			rules := claim.DefaultRules()
			_, out, err := NewPipeline(l, &rules, r).Review(t.Context(), c.road, c.pod.body(), time.Now().Add(time.Minute))
			require.NoError(t, err)
			assert.True(t, out.Decision.Allowed(), out.Decision.Message)
			assert.Empty(t, r.calls)
		})
	}
}

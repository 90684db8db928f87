package admission_test

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

// object is JSON as tests write it.
type object = map[string]any

// pvcVolumes are volumes v0, v1, … that name these claims.
func pvcVolumes(claims ...string) []any {
	var out []any
	for i, c := range claims {
		out = append(out, object{"name": "v" + string(rune('0'+i)), "persistentVolumeClaim": object{"claimName": c}})
	}
	return out
}

func onNode(node string) object {
	return object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": []any{
		object{"matchFields": []any{object{"key": "metadata.name", "operator": "In", "values": []any{node}}}},
	}}}}
}

// podOn is a pod pinned as the DaemonSet controller does it.
func podOn(node string, annotations map[string]string, claims ...string) object {
	meta := object{"generateName": "reader-"}
	if annotations != nil {
		meta["annotations"] = annotations
	}
	return object{"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": object{"affinity": onNode(node), "volumes": pvcVolumes(claims...)}}
}

// unpinned is a pod that the scheduler will place.
func unpinned(claims ...string) object {
	return object{"kind": "Pod", "metadata": object{"name": "free"}, "spec": object{"volumes": pvcVolumes(claims...)}}
}

func create(t testing.TB, pod any) *admission.Request {
	raw, err := json.Marshal(pod)
	require.NoError(t, err)
	return &admission.Request{UID: "u1", Version: "v1", Resource: "pods", Operation: "CREATE", Namespace: "ml", Object: raw}
}

func nodePVC(name, node, of string) *claim.PVC {
	return &claim.PVC{Namespace: "ml", Name: name, Claim: of, Node: node, Phase: corev1.ClaimBound, VolumeName: "pv"}
}

// cluster has two nodes, and two claims with a node PVC on each.
func cluster() *claimtest.View {
	host := func(n string) *claim.Node {
		return &claim.Node{Name: n, Labels: map[string]string{corev1.LabelHostname: n}}
	}
	return &claimtest.View{
		Nodes: []*claim.Node{host("node-a"), host("node-b")},
		PVCs: []*claim.PVC{
			nodePVC("model-node-a", "node-a", "model"), nodePVC("model-node-b", "node-b", "model"),
			nodePVC("kernels-node-a", "node-a", "kernels"), nodePVC("kernels-node-b", "node-b", "kernels"),
			{Namespace: "ml", Name: "scratch", Phase: corev1.ClaimBound, VolumeName: "pv"},
		},
		PVs: []*claim.PV{{Name: "pv"}}, Names: claim.DefaultNameTemplate,
	}
}

// decide judges a request against a cluster with nothing read live.
func decide(v claim.View, road admission.Road, req *admission.Request) (admission.Decision, []claim.Question) {
	rules := claim.DefaultRules()
	reads := claim.NewReads(v, &rules, nil)
	d := admission.Decide(road, req, reads)
	return d, reads.Unsettled()
}

// apply applies a decision's patch as the API server does.
func apply(t testing.TB, raw []byte, d admission.Decision) []byte {
	if len(d.Patch) == 0 {
		return raw
	}
	ops, err := json.Marshal(d.Patch)
	require.NoError(t, err)
	p, err := jsonpatch.DecodePatch(ops)
	require.NoError(t, err)
	out, err := p.Apply(raw)
	require.NoError(t, err, "%s on %s", ops, raw)
	return out
}

// claimNames are the claimNames of a pod's volumes, in order.
func claimNames(t testing.TB, raw []byte) []string {
	var p struct {
		Spec struct {
			Volumes []struct {
				PVC *struct{ ClaimName string } `json:"persistentVolumeClaim"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(raw, &p))
	var out []string
	for _, v := range p.Spec.Volumes {
		if v.PVC != nil {
			out = append(out, v.PVC.ClaimName)
		}
	}
	return out
}

// rawJSON is an object that is JSON already.
func rawJSON(b []byte) json.RawMessage { return b }

// hostAffinity ties a PV to a host.
func hostAffinity(host string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{
		Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host},
	}}}}}
}

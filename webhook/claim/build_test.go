package claim_test

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

const (
	ns    = "ml"
	model = "model-cache"
)

// node is a Node whose hostname label is its name without "node-", with more
// labels as key=value; key= sets an empty value and key alone removes one.
func node(name string, labels ...string) *claim.Node {
	n := &claim.Node{Name: name, Labels: map[string]string{corev1.LabelHostname: strings.TrimPrefix(name, "node-")}}
	for _, l := range labels {
		key, value, ok := strings.Cut(l, "=")
		if !ok {
			delete(n.Labels, key)
			continue
		}
		n.Labels[key] = value
	}
	return n
}

// pvc is a bound node PVC of model-cache, changed as asked.
func pvc(name, onNode string, change ...func(*claim.PVC)) *claim.PVC {
	p := &claim.PVC{
		Namespace: ns, Name: name, Claim: model, Node: onNode, Phase: corev1.ClaimBound,
		VolumeName: "pv-" + name, StorageClass: "local", Created: 1000,
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func pending(p *claim.PVC)  { p.Phase, p.VolumeName = corev1.ClaimPending, "" }
func lost(p *claim.PVC)     { p.Phase = corev1.ClaimLost }
func deleting(p *claim.PVC) { p.Deleting = true }
func plain(p *claim.PVC)    { p.Claim, p.Node = "", "" }
func wffc(p *claim.PVC)     { pending(p); p.StorageClass = "wffc" }

func revision(r string) func(*claim.PVC)  { return func(p *claim.PVC) { p.Revision = r } }
func scope(s string) func(*claim.PVC)     { return func(p *claim.PVC) { p.Scope = s } }
func created(at int64) func(*claim.PVC)   { return func(p *claim.PVC) { p.Created = at } }
func selected(on string) func(*claim.PVC) { return func(p *claim.PVC) { p.SelectedNode = on } }
func populated(v string) func(*claim.PVC) {
	return func(p *claim.PVC) { p.Populated, p.HasPopulated = v, true }
}

// pv is a PersistentVolume of a PVC with one term of node affinity.
func pv(ofPVC string, affinity ...corev1.NodeSelectorTerm) *claim.PV {
	v := &claim.PV{Name: "pv-" + ofPVC}
	if len(affinity) > 0 {
		v.Affinity = &corev1.NodeSelector{NodeSelectorTerms: affinity}
	}
	return v
}

func label(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func host(values ...string) corev1.NodeSelectorTerm {
	return label(corev1.LabelHostname, corev1.NodeSelectorOpIn, values...)
}

func name(values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{
		Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: values,
	}}}
}

// and joins terms into one.
func and(terms ...corev1.NodeSelectorTerm) corev1.NodeSelectorTerm {
	var all corev1.NodeSelectorTerm
	for _, t := range terms {
		all.MatchExpressions = append(all.MatchExpressions, t.MatchExpressions...)
		all.MatchFields = append(all.MatchFields, t.MatchFields...)
	}
	return all
}

func required(terms ...corev1.NodeSelectorTerm) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: terms}
}

func threeNodes() []*claim.Node {
	return []*claim.Node{node("node-a"), node("node-b"), node("node-c")}
}

func classes() []*claim.StorageClass {
	return []*claim.StorageClass{{Name: "local"}, {Name: "wffc", Provisioner: "csi.example", WaitForFirstConsumer: true}}
}

func view(pvcs ...*claim.PVC) *claimtest.View {
	return &claimtest.View{Nodes: threeNodes(), PVCs: pvcs, Classes: classes(), Names: claim.DefaultNameTemplate}
}

package claim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

const (
	in     = corev1.NodeSelectorOpIn
	notIn  = corev1.NodeSelectorOpNotIn
	exists = corev1.NodeSelectorOpExists
	gt     = corev1.NodeSelectorOpGt
)

type resolveCase struct {
	p       claim.Placement
	nodes   []*claim.Node // three by default
	want    claim.Outcome
	on      string   // the node, when pinned
	says    []string // what Why, By or Warning must name
	pvcs    []*claim.PVC
	pvs     []*claim.PV
	noNodes bool
}

func (c resolveCase) run(t *testing.T) {
	rules := claim.DefaultRules()
	v := &claimtest.View{Nodes: c.nodes, PVCs: c.pvcs, PVs: c.pvs}
	if v.Nodes == nil && !c.noNodes {
		v.Nodes = threeNodes()
	}
	c.p.Namespace = ns
	reads := claim.NewReads(v, &rules, nil)
	res := claim.Resolve(reads, c.p)
	assert.Equal(t, c.want, res.Outcome, "%+v", res)
	assert.Equal(t, c.on, res.Node)
	for _, s := range c.says {
		assert.Contains(t, res.Why+"|"+claim.PinnedBy(reads, c.p, res.Node)+"|"+res.Warning+"|today "+res.Today, s)
	}
}

func selector(pairs ...string) map[string]string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

func TestResolvePins(t *testing.T) {
	h := corev1.LabelHostname
	for what, c := range map[string]resolveCase{
		"if one term has matchFields metadata.name, its value is the node": {p: claim.Placement{Required: required(name("node-a"))}, on: "node-a", says: []string{"required node affinity"}},
		"if spec.nodeName is set, it is the node":                          {p: claim.Placement{NodeName: "node-b"}, on: "node-b", says: []string{"spec.nodeName"}},
		"if the hostname selector names one Node's label, that Node":       {p: claim.Placement{NodeSelector: selector(h, "c")}, on: "node-c", says: []string{"nodeSelector"}},
		"if a topology key of a local-volume driver names one Node": {
			p: claim.Placement{NodeSelector: selector(topolvm, "t1")}, nodes: []*claim.Node{node("node-a", topolvm+"=t1"), node("node-b", topolvm+"=t2")}, on: "node-a",
		},
		"if two ORed terms end at the same node":              {p: claim.Placement{Required: required(name("node-a"), host("a"))}, on: "node-a"},
		"if an empty term stands beside a pinned one":         {p: claim.Placement{Required: required(corev1.NodeSelectorTerm{}, name("node-a"))}, on: "node-a"},
		"if an invalid term stands beside a pinned one":       {p: claim.Placement{Required: required(name("node-b", "node-c"), name("node-a"))}, on: "node-a"},
		"if an unsatisfiable term stands beside a pinned one": {p: claim.Placement{Required: required(and(label("zone", in, "x"), label("zone", in, "y")), name("node-a"))}, on: "node-a"},
		"if a term ANDs a label and a name, both intersect":   {p: claim.Placement{Required: required(and(host("a", "b"), name("node-b")))}, on: "node-b"},
		"if selector and affinity narrow each other":          {p: claim.Placement{NodeSelector: selector(h, "a"), Required: required(host("a", "b"))}, on: "node-a"},
		"if NotIn leaves one of the values that In lists": {
			p: claim.Placement{Required: required(and(host("a", "b"), label(h, notIn, "b")))}, on: "node-a",
		},
		"if the DaemonSet's template had a nodeSelector that the node fails today, the node, with a warning": {
			p: claim.Placement{NodeSelector: selector("gpu", "a100"), Required: required(name("node-a"))}, on: "node-a", says: []string{`node "node-a" does not match`},
		},
		"if the node has no Node object yet, a name still names it":              {p: claim.Placement{Required: required(name("node-new"))}, on: "node-new"},
		"if the node has no Node object yet, a selector that it may meet allows": {p: claim.Placement{NodeSelector: selector(h, "new"), Required: required(name("node-new"))}, on: "node-new"},
		"if hostname and node name differ, the label is mapped through the Node": {
			p: claim.Placement{NodeSelector: selector(h, "ip-10-0-0-1")}, nodes: []*claim.Node{node("ip-10-0-0-1.internal", h+"=ip-10-0-0-1")}, on: "ip-10-0-0-1.internal",
		},
		"if Exists on an identity fails today, the node all the same, with a warning": {
			p: claim.Placement{Required: required(and(name("node-a"), label(h, exists)))}, nodes: []*claim.Node{node("node-a", h)}, on: "node-a", says: []string{"does not match"},
		},
		"if Gt on an identity fails today, the node all the same": {
			p: claim.Placement{Required: required(and(name("node-a"), label(h, gt, "3")))}, on: "node-a", says: []string{"does not match"},
		},
		"if a shared hostname is ANDed with a name, the name pins": {
			p: claim.Placement{NodeSelector: selector(h, "localhost"), Required: required(name("e1"))}, nodes: []*claim.Node{node("e1", h+"=localhost"), node("e2", h+"=localhost")}, on: "e1",
		},
	} {
		c.want = claim.Pinned
		t.Run(what, c.run)
	}
}

func TestResolveDoesNotPin(t *testing.T) {
	h := corev1.LabelHostname
	for what, c := range map[string]resolveCase{
		"if nothing names a node":                                   {p: claim.Placement{}},
		"if two ORed terms end at different nodes":                  {p: claim.Placement{Required: required(name("node-a"), name("node-b"))}, says: []string{"2 nodes: node-a, node-b"}},
		"if one term names a node and the other only a label":       {p: claim.Placement{Required: required(name("node-a"), label("zone", in, "z"))}, says: []string{"ORed"}},
		"if the hostname is In two values":                          {p: claim.Placement{Required: required(host("a", "b"))}, says: []string{"node-a, node-b"}},
		"if a custom label is borne by one node today":              {p: claim.Placement{NodeSelector: selector("special", "yes")}, nodes: []*claim.Node{node("node-a", "special=yes"), node("node-b")}, says: []string{"today node-a"}},
		"if NotIn leaves one node of those that exist":              {p: claim.Placement{Required: required(label(h, notIn, "b", "c"))}, says: []string{"today node-a"}},
		"if Exists matches one node today":                          {p: claim.Placement{Required: required(label(topolvm, exists))}, nodes: []*claim.Node{node("node-a", topolvm+"=x"), node("node-b")}},
		"if Gt matches one node today":                              {p: claim.Placement{Required: required(label("gpus", gt, "4"))}, nodes: []*claim.Node{node("node-a", "gpus=8"), node("node-b")}},
		"if two Nodes share the hostname, naming both":              {p: claim.Placement{NodeSelector: selector(h, "localhost")}, nodes: []*claim.Node{node("e1", h+"=localhost"), node("e2", h+"=localhost")}, says: []string{`"localhost"`, "e1, e2"}},
		"if two share the hostname, though NotIn excludes one":      {p: claim.Placement{NodeSelector: selector(h, "localhost"), Required: required(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: notIn, Values: []string{"e2"}}}})}, nodes: []*claim.Node{node("e1", h+"=localhost"), node("e2", h+"=localhost")}},
		"if no Node bears the hostname, quoting it":                 {p: claim.Placement{NodeSelector: selector(h, "ghost")}, says: []string{`no Node bears kubernetes.io/hostname="ghost"`}},
		"if the hostname differs in case, naming the Node":          {p: claim.Placement{NodeSelector: selector(h, "GPU-Box")}, nodes: []*claim.Node{node("gpu-box")}, says: []string{`"GPU-Box"`, `node "gpu-box" bears "gpu-box"`}},
		"if the hostname is empty and a Node lacks the label":       {p: claim.Placement{NodeSelector: selector(h, "")}, nodes: []*claim.Node{node("node-a"), node("node-b", h)}, says: []string{`kubernetes.io/hostname=""`}},
		"if one of the values is a node's still to join":            {p: claim.Placement{Required: required(host("a", "ghost"))}, says: []string{"node-a", `"ghost"`}},
		"if the key is a topology key that this cluster shares out": {p: claim.Placement{NodeSelector: selector(corev1.LabelTopologyZone, "z")}, nodes: []*claim.Node{node("node-a", corev1.LabelTopologyZone+"=z")}},
	} {
		c.want = claim.Unpinned
		t.Run(what, c.run)
	}
}

func TestResolveContradictions(t *testing.T) {
	h := corev1.LabelHostname
	for what, c := range map[string]resolveCase{
		"if nodeName and the hostname selector disagree, naming both": {p: claim.Placement{NodeName: "node-a", NodeSelector: selector(h, "b")}, says: []string{"node-a", "node-b", "spec.nodeName", "nodeSelector"}},
		"if selector and affinity disagree":                           {p: claim.Placement{NodeSelector: selector(h, "b"), Required: required(host("a"))}, says: []string{"node-a", "node-b"}},
		"if hostname a is ANDed with name b and node b has another":   {p: claim.Placement{NodeSelector: selector(h, "a"), Required: required(name("node-b"))}, says: []string{"node-a", "node-b"}},
		"if the name is of no Node and the hostname is another's":     {p: claim.Placement{NodeSelector: selector(h, "a"), Required: required(name("node-new"))}, says: []string{"node-new", "node-a"}},
		"if In and NotIn of one term leave nothing":                   {p: claim.Placement{Required: required(and(host("a"), label(h, notIn, "a")))}, says: []string{"can match no node"}},
		"if matchFields has two values":                               {p: claim.Placement{Required: required(name("node-a", "node-b"))}, says: []string{"exactly one value, not 2"}},
		"if matchFields has no value":                                 {p: claim.Placement{Required: required(name())}, says: []string{"exactly one value, not 0"}},
		"if the only term is empty":                                   {p: claim.Placement{Required: required(corev1.NodeSelectorTerm{})}, says: []string{"can match no node"}},
		"if there are no terms":                                       {p: claim.Placement{Required: required()}, says: []string{"can match no node"}},
		"if there are no terms, though nodeName is set":               {p: claim.Placement{NodeName: "node-a", Required: required()}, says: []string{"can match no node"}},
		"if a requirement has no values":                              {p: claim.Placement{Required: required(label(h, in))}, says: []string{"can match no node"}},
		"if the name is empty":                                        {p: claim.Placement{Required: required(name(""))}},
		"if the field is none that the scheduler knows":               {p: claim.Placement{Required: required(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "spec.x", Operator: in, Values: []string{"a"}}}})}},
	} {
		c.want = claim.Contradictory
		t.Run(what, c.run)
	}
}

func TestResolveVolumes(t *testing.T) {
	own := func(name string) *claim.PVC { return pvc(name, "", plain) }
	for what, c := range map[string]resolveCase{
		"if a bound volume of its own is tied by label, it pins":             {want: claim.Pinned, on: "node-b", p: claim.Placement{PVCs: []string{"data"}}, pvcs: []*claim.PVC{own("data")}, pvs: []*claim.PV{pv("data", host("b"))}, says: []string{`"pv-data"`}},
		"if its PV is tied by matchFields only, it pins nothing":             {want: claim.Unpinned, p: claim.Placement{PVCs: []string{"data"}}, pvcs: []*claim.PVC{own("data")}, pvs: []*claim.PV{pv("data", name("node-b"))}},
		"if its PVC is not bound, it pins nothing":                           {want: claim.Unpinned, p: claim.Placement{PVCs: []string{"data"}}, pvcs: []*claim.PVC{pvc("data", "", plain, pending)}, pvs: []*claim.PV{pv("data", host("b"))}},
		"if its PV has no affinity, it pins nothing":                         {want: claim.Unpinned, p: claim.Placement{PVCs: []string{"data"}}, pvcs: []*claim.PVC{own("data")}, pvs: []*claim.PV{pv("data")}},
		"if its PV is tied to a zone, it pins nothing":                       {want: claim.Unpinned, p: claim.Placement{PVCs: []string{"data"}}, pvcs: []*claim.PVC{own("data")}, pvs: []*claim.PV{pv("data", label("zone", in, "z"))}},
		"if two volumes are tied to different nodes, it contradicts":         {want: claim.Contradictory, p: claim.Placement{PVCs: []string{"x", "y"}}, pvcs: []*claim.PVC{own("x"), own("y")}, pvs: []*claim.PV{pv("x", host("a")), pv("y", host("b"))}, says: []string{"pv-x", "pv-y", "node-a", "node-b"}},
		"if the volume and the selector disagree, it contradicts":            {want: claim.Contradictory, p: claim.Placement{NodeSelector: selector(corev1.LabelHostname, "a"), PVCs: []string{"x"}}, pvcs: []*claim.PVC{own("x")}, pvs: []*claim.PV{pv("x", host("b"))}, says: []string{"pv-x", "nodeSelector"}},
		"if the volume and nodeName agree, it pins":                          {want: claim.Pinned, on: "node-a", p: claim.Placement{NodeName: "node-a", PVCs: []string{"x"}}, pvcs: []*claim.PVC{own("x")}, pvs: []*claim.PV{pv("x", host("a"))}},
		"if volume and affinity leave one in common, it pins":                {want: claim.Pinned, on: "node-b", p: claim.Placement{Required: required(host("a", "b")), PVCs: []string{"x"}}, pvcs: []*claim.PVC{own("x")}, pvs: []*claim.PV{pv("x", host("b", "c"))}, says: []string{"together"}},
		"if NotIn excludes the volume's node, it contradicts":                {want: claim.Contradictory, p: claim.Placement{Required: required(label(corev1.LabelHostname, notIn, "b")), PVCs: []string{"x"}}, pvcs: []*claim.PVC{own("x")}, pvs: []*claim.PV{pv("x", host("b"))}},
		"if the PV's ORed terms are on two nodes, it does not pin":           {want: claim.Unpinned, p: claim.Placement{PVCs: []string{"x"}}, pvcs: []*claim.PVC{own("x")}, pvs: []*claim.PV{pv("x", host("a"), host("b"))}},
		"if the pod's preferred zone would match, the volume's zone is mute": {want: claim.Unpinned, p: claim.Placement{NodeSelector: selector("zone", "z"), PVCs: []string{"x"}}, pvcs: []*claim.PVC{own("x")}, pvs: []*claim.PV{pv("x", label("zone", in, "y"))}},
	} {
		t.Run(what, c.run)
	}
}

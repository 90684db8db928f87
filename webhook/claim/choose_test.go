package claim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/claim"
)

type chooseCase struct {
	need   claim.Need
	pvcs   []*claim.PVC
	pvs    []*claim.PV
	rules  func(*claim.Rules)
	want   string       // the PVC chosen
	pended bool         //
	reason claim.Reason // or why it is refused
	says   []string     // what the refusal or the warnings must name
	silent bool         // no warning at all
	more   []*claim.Node
}

func (c chooseCase) run(t *testing.T) {
	rules := claim.DefaultRules()
	rules.Missing = claim.MissingDeny
	if c.rules != nil {
		c.rules(&rules)
	}
	v := view(c.pvcs...)
	v.PVs, v.Names, v.Nodes = c.pvs, rules.Names, append(v.Nodes, c.more...)
	for _, p := range c.pvcs { // a PV that admits every node, unless the case has one
		v.PVs = append(v.PVs, &claim.PV{Name: p.VolumeName})
	}
	need := c.need
	need.Namespace, need.Claim = ns, model
	if need.Node == "" {
		need.Node = "node-a"
	}
	choice := claim.Choose(claim.NewReads(v, &rules, nil), need)
	said := strings.Join(choice.Warnings, "|")
	if c.reason != "" {
		require.NotNil(t, choice.Refusal, "chose %q", choice.PVC)
		assert.Equal(t, c.reason, choice.Refusal.Reason)
		said = choice.Refusal.Why + "|" + choice.Refusal.Remedy
		assert.NotEmpty(t, choice.Refusal.Remedy)
	} else {
		require.Nil(t, choice.Refusal)
	}
	assert.Equal(t, c.want, choice.PVC)
	assert.Equal(t, c.pended, choice.Pended)
	for _, s := range c.says {
		assert.Contains(t, said, s)
	}
	if c.silent {
		assert.Empty(t, choice.Warnings)
	}
}

func TestChooseOneOfSeveral(t *testing.T) {
	digest := strings.Repeat("0123456789abcdef", 4)
	asks := func(r string) claim.Need { return claim.Need{Revision: r} }
	for what, c := range map[string]chooseCase{
		"if one live PVC serves the node, it is taken in silence":       {pvcs: []*claim.PVC{pvc("x", "node-a"), pvc("y", "node-b")}, want: "x", silent: true},
		"if another is being deleted, it does not count":                {pvcs: []*claim.PVC{pvc("x", "node-a"), pvc("y", "node-a", deleting)}, want: "x"},
		"if another is Lost, it does not count":                         {pvcs: []*claim.PVC{pvc("x", "node-a"), pvc("y", "node-a", lost)}, want: "x"},
		"if two of one revision serve the node, refused naming both":    {pvcs: []*claim.PVC{pvc("x", "node-a"), pvc("y", "node-a", created(2000))}, reason: claim.AmbiguousNodePVC, says: []string{"x", "y"}},
		"if one is ready and the newer is not, the ready one":           {pvcs: []*claim.PVC{pvc("x", "node-a", revision("1")), pvc("y", "node-a", revision("2"), created(2000), pending)}, want: "x", says: []string{`revision "1"`}},
		"if one is ready and its twin is not, the ready one":            {pvcs: []*claim.PVC{pvc("x", "node-a"), pvc("y", "node-a", populated("false"))}, want: "x"},
		"if several revisions are ready, the newest, saying which":      {pvcs: []*claim.PVC{pvc("x", "node-a", revision("1")), pvc("y", "node-a", revision("2"), created(2000))}, want: "y", says: []string{"2 revisions", `took PVC "y", revision "2"`}},
		"if no revision and a revision are ready, the newest":           {pvcs: []*claim.PVC{pvc("x", "node-a", created(3000)), pvc("y", "node-a", revision("2"))}, want: "x"},
		"if revisions are of one second, refused naming all":            {pvcs: []*claim.PVC{pvc("x", "node-a", revision("1")), pvc("y", "node-a", revision("2"))}, reason: claim.AmbiguousNodePVC, says: []string{"x", "y", `"1"`, "berth.dev/revision"}},
		"if the newest has a twin, refused":                             {pvcs: []*claim.PVC{pvc("x", "node-a", revision("1")), pvc("y", "node-a", revision("2"), created(2000)), pvc("z", "node-a", revision("2"), created(2001))}, reason: claim.AmbiguousNodePVC, says: []string{"x", "y", "z"}},
		"if several revisions are there and none ready, refused":        {pvcs: []*claim.PVC{pvc("x", "node-a", revision("1"), pending), pvc("y", "node-a", revision("2"), pending, created(2000))}, reason: claim.AmbiguousNodePVC},
		"if a revision is asked for, it is a filter":                    {need: asks("1"), pvcs: []*claim.PVC{pvc("x", "node-a", revision("1")), pvc("y", "node-a", revision("2"), created(2000))}, want: "x"},
		"if a revision is asked for that is not ready, it is taken":     {need: asks("2"), pvcs: []*claim.PVC{pvc("x", "node-a", revision("1")), pvc("y", "node-a", revision("2"), pending)}, want: "y"},
		"if the revision asked for is not there, refused naming others": {need: asks("3"), pvcs: []*claim.PVC{pvc("x", "node-a", revision("1"))}, reason: claim.RevisionNotFound, says: []string{`"3"`, `"1"`, "node-a"}},
		"if a digest is cut to 60 characters, it matches":               {need: asks("sha256:" + digest), pvcs: []*claim.PVC{pvc("x", "node-a", revision(digest[:60])), pvc("y", "node-a", revision("2"))}, want: "x"},
		"if a digest is cut to 63 characters, it matches":               {need: asks(digest), pvcs: []*claim.PVC{pvc("x", "node-a", revision(digest[:63]))}, want: "x"},
		"if a digest is cut to 59 characters, it does not match":        {need: asks(digest), pvcs: []*claim.PVC{pvc("x", "node-a", revision(digest[:59]))}, reason: claim.RevisionNotFound},
		"if what is asked for is shorter than the label, no match":      {need: asks(digest[:60]), pvcs: []*claim.PVC{pvc("x", "node-a", revision(digest[:62]))}, reason: claim.RevisionNotFound},
		"if a short label is a prefix of what is asked for, no match":   {need: asks("v1.2"), pvcs: []*claim.PVC{pvc("x", "node-a", revision("v1"))}, reason: claim.RevisionNotFound},
		"if scopes differ, refused naming both":                         {pvcs: []*claim.PVC{pvc("x", "node-a", scope("ml")), pvc("y", "node-a", scope(""), revision("2"))}, reason: claim.ScopeConflict, says: []string{"x", "y", `"ml"`}},
		"if scopes differ only on another node, no conflict":            {pvcs: []*claim.PVC{pvc("x", "node-a", scope("ml")), pvc("y", "node-b", scope(""))}, want: "x"},
		"if a dead PVC is of another scope, no conflict":                {pvcs: []*claim.PVC{pvc("x", "node-a", scope("ml")), pvc("y", "node-a", scope(""), lost)}, want: "x"},
		"if another namespace has one, it is none of ours":              {pvcs: []*claim.PVC{pvc("x", "node-a"), pvc("y", "node-a", func(p *claim.PVC) { p.Namespace = "default" })}, want: "x"},
		"if the access mode is ReadWriteOncePod, a warning says so":     {pvcs: []*claim.PVC{pvc("x", "node-a", func(p *claim.PVC) { p.ReadWriteOncePod = true })}, want: "x", says: []string{"ReadWriteOncePod"}},
	} {
		t.Run(what, c.run)
	}
}

func TestChooseChecksTheVolume(t *testing.T) {
	x := func(change ...func(*claim.PVC)) []*claim.PVC { return []*claim.PVC{pvc("x", "node-a", change...)} }
	for what, c := range map[string]chooseCase{
		"if the PV admits the node by label, taken":             {pvcs: x(), pvs: []*claim.PV{pv("x", host("a"))}, want: "x", silent: true},
		"if the PV admits the node by name, taken":              {pvcs: x(), pvs: []*claim.PV{pv("x", name("node-a"))}, want: "x"},
		"if the PV excludes the node by label, refused":         {pvcs: x(), pvs: []*claim.PV{pv("x", host("b"))}, reason: claim.VolumeOnAnotherNode, says: []string{`"x"`, `"pv-x"`, "node-b"}},
		"if the PV excludes the node by name, refused":          {pvcs: x(), pvs: []*claim.PV{pv("x", name("node-b"))}, reason: claim.VolumeOnAnotherNode, says: []string{"node-b"}},
		"if label admits and name excludes, refused":            {pvcs: x(), pvs: []*claim.PV{pv("x", and(host("a"), name("node-b")))}, reason: claim.VolumeOnAnotherNode},
		"if the PV bears the node's name as hostname, refused":  {pvcs: x(), pvs: []*claim.PV{pv("x", host("node-a"))}, reason: claim.VolumeOnAnotherNode},
		"if one of the PV's terms admits the node, taken":       {pvcs: x(), pvs: []*claim.PV{pv("x", host("b"), host("a"))}, want: "x"},
		"if there is no Node object, a warning instead":         {need: claim.Need{Node: "node-new"}, pvcs: []*claim.PVC{pvc("x", "node-new")}, pvs: []*claim.PV{pv("x", host("b"))}, want: "x", says: []string{`no Node "node-new"`}},
		"if selected-node is another node, refused naming both": {pvcs: x(pending, selected("node-b")), reason: claim.SelectedOtherNode, says: []string{"node-b", `"x"`, "selected-node"}},
		"if selected-node is this node, taken":                  {pvcs: x(wffc, selected("node-a")), want: "x"},
		"if selected-node is stale but the PVC is bound, taken": {pvcs: x(selected("node-b")), want: "x"},
	} {
		t.Run(what, c.run)
	}
}

func TestChooseJudgesReadiness(t *testing.T) {
	x := func(change ...func(*claim.PVC)) []*claim.PVC { return []*claim.PVC{pvc("x", "node-a", change...)} }
	must := func(r *claim.Rules) { r.PopulatedRequired = true }
	cdi := func(r *claim.Rules) {
		r.Keys.PopulatedKey, r.Keys.PopulatedValue = "cdi.kubevirt.io/storage.pod.phase", "Succeeded"
	}
	for what, c := range map[string]chooseCase{
		"if it is bound, it is filled":                                      {pvcs: x(), want: "x", silent: true},
		"if the populated key says true, it is filled":                      {pvcs: x(populated("true")), want: "x"},
		"if the populated key says false, refused retriably":                {pvcs: x(populated("false")), reason: claim.NotFilled, says: []string{`"x"`, `"false"`, "berth.dev/populated=true"}},
		"if the populated key is empty, refused":                            {pvcs: x(populated("")), reason: claim.NotFilled},
		"if the populated key says anything else, refused":                  {pvcs: x(populated("True")), reason: claim.NotFilled},
		"if the populated key is absent and required, refused":              {rules: must, pvcs: x(), reason: claim.NotFilled, says: []string{"absent"}},
		"if the populated key is required and says true, taken":             {rules: must, pvcs: x(populated("true")), want: "x"},
		"if another signal says yes, taken":                                 {rules: cdi, pvcs: x(populated("Succeeded")), want: "x"},
		"if another signal says no, refused":                                {rules: cdi, pvcs: x(populated("Running")), reason: claim.NotFilled, says: []string{"cdi.kubevirt.io/storage.pod.phase=Succeeded"}},
		"if it is Pending, taken with a warning":                            {pvcs: x(pending), want: "x", says: []string{"Pending", "waits"}},
		"if it is Pending and unfilled, refused":                            {pvcs: x(pending, populated("false")), reason: claim.NotFilled},
		"if it has no phase yet, it is Pending":                             {pvcs: x(pending, func(p *claim.PVC) { p.Phase = "" }), want: "x", says: []string{"Pending"}},
		"if it is Pending and the key is in use elsewhere, refused":         {pvcs: append(x(pending), pvc("y", "node-b", populated("true"))), reason: claim.NotFilled, says: []string{"Pending"}},
		"if it is bound and the key is in use elsewhere, taken":             {pvcs: append(x(), pvc("y", "node-b", populated("true"))), want: "x"},
		"if the pod fills it, it may be unfilled":                           {need: claim.Need{Fills: true}, pvcs: x(populated("false")), want: "x"},
		"if the pod fills it, it may be Pending though the key is in use":   {need: claim.Need{Fills: true}, pvcs: append(x(pending), pvc("y", "node-b", populated("true"))), want: "x"},
		"if the pod fills it and the key is required, it may be absent":     {need: claim.Need{Fills: true}, rules: must, pvcs: x(), want: "x"},
		"if nodeName meets an unbound WaitForFirstConsumer PVC, refused":    {need: claim.Need{NodeName: true}, pvcs: x(wffc), reason: claim.NeverBinds, says: []string{"Pending", "kubernetes.io/hostname"}},
		"if nodeName meets one with selected-node, taken":                   {need: claim.Need{NodeName: true}, pvcs: x(wffc, selected("node-a")), want: "x"},
		"if nodeName meets one that is promised to a volume, taken":         {need: claim.Need{NodeName: true}, pvcs: x(wffc, func(p *claim.PVC) { p.VolumeName = "pv" }), want: "x"},
		"if nodeName meets an unbound Immediate PVC, taken":                 {need: claim.Need{NodeName: true}, pvcs: x(pending), want: "x", says: []string{"waits"}},
		"if a pod for the scheduler meets a WaitForFirstConsumer PVC, take": {pvcs: x(wffc), want: "x", says: []string{"waits"}},
		"if nodeName meets an unbound PVC of an unknown class, taken":       {need: claim.Need{NodeName: true}, pvcs: x(pending, func(p *claim.PVC) { p.StorageClass = "gone" }), want: "x"},
	} {
		t.Run(what, c.run)
	}
}

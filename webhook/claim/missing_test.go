package claim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"berth.dev/berth/webhook/claim"
)

func TestMissingNodePVC(t *testing.T) {
	auto := func(r *claim.Rules) { r.Missing = claim.MissingAuto }
	pend := func(r *claim.Rules) { r.Missing = claim.MissingPend }
	named := func(template string, then func(*claim.Rules)) func(*claim.Rules) {
		return func(r *claim.Rules) { then(r); r.Names = claim.NameTemplate(template) }
	}
	siblings := []*claim.PVC{pvc("model-cache-node-b", "node-b"), pvc("model-cache-node-c", "node-c")}
	with := func(more ...*claim.PVC) []*claim.PVC { return append(append([]*claim.PVC{}, siblings...), more...) }
	odd := []*claim.PVC{pvc("odd", "node-b")}
	declares := claim.Need{Declares: []string{model}}
	for what, c := range map[string]chooseCase{
		"if the policy is deny, refused":                                   {pvcs: siblings, reason: claim.NoNodePVC, says: []string{"node-a", "berth.dev/claim=model-cache"}},
		"if auto and all siblings bear the template's name, pended":        {rules: auto, pvcs: siblings, want: "model-cache-node-a", pended: true, says: []string{"waits", "node-a", `holds.berth.dev/model-cache: "true"`}},
		"if auto and one sibling is named otherwise, refused":              {rules: auto, pvcs: with(odd...), reason: claim.NoNodePVC, says: []string{"not predictable"}},
		"if auto and the sibling named otherwise is Lost, pended":          {rules: auto, pvcs: with(pvc("odd", "node-b", lost)), want: "model-cache-node-a", pended: true},
		"if auto, none yet, and the pod declares the claim, pended":        {rules: auto, need: declares, want: "model-cache-node-a", pended: true},
		"if auto, none yet, and the pod declares another claim, refused":   {rules: auto, need: claim.Need{Declares: []string{"other"}}, reason: claim.NoNodePVC},
		"if auto, only dead ones, not declared, refused":                   {rules: auto, pvcs: []*claim.PVC{pvc("x", "node-b", lost)}, reason: claim.NoNodePVC},
		"if pend and siblings are named otherwise, pended":                 {rules: pend, pvcs: odd, want: "model-cache-node-a", pended: true},
		"if pend and the pod has spec.nodeName, refused":                   {rules: pend, need: claim.Need{NodeName: true}, pvcs: siblings, reason: claim.NoNodePVC, says: []string{"spec.nodeName"}},
		"if auto and the pod has spec.nodeName, refused":                   {rules: auto, need: claim.Need{NodeName: true}, pvcs: siblings, reason: claim.NoNodePVC, says: []string{"spec.nodeName"}},
		"if pend and an ordinary PVC bears the name, refused":              {rules: pend, pvcs: with(pvc("model-cache-node-a", "", plain)), reason: claim.NoNodePVC, says: []string{`"model-cache-node-a" is there already`}},
		"if pend and this node's PVC of that name is being deleted":        {rules: pend, pvcs: with(pvc("model-cache-node-a", "node-a", deleting)), reason: claim.NoNodePVC, says: []string{"being deleted"}},
		"if auto and this node's PVC of that name is Lost, refused":        {rules: auto, pvcs: with(pvc("model-cache-node-a", "node-a", lost)), reason: claim.NoNodePVC, says: []string{"Lost"}},
		"if pend and the name is itself a node-local claim, refused":       {rules: pend, pvcs: with(pvc("z", "node-b", func(p *claim.PVC) { p.Claim = "model-cache-node-a" })), reason: claim.NoNodePVC, says: []string{"itself a node-local claim"}},
		"if pend and the pod declares the name as a claim, refused":        {rules: pend, need: claim.Need{Declares: []string{"model-cache-node-a"}}, pvcs: siblings, reason: claim.NoNodePVC, says: []string{"itself a node-local claim"}},
		"if pend and the name would be too long, refused":                  {rules: pend, need: claim.Need{Node: strings.Repeat("n", 250)}, pvcs: siblings, reason: claim.NoNodePVC, says: []string{"262 characters"}},
		"if pend and the name would be invalid, refused":                   {rules: named("{claim}_{node}", pend), pvcs: siblings, reason: claim.NoNodePVC, says: []string{"lower-case"}},
		"if pend and the populated key is in use, refused":                 {rules: pend, pvcs: with(pvc("model-cache-node-d", "node-d", populated("true"))), reason: claim.NoNodePVC, says: []string{"not yet a filled one"}},
		"if pend and the populated key is required, refused":               {rules: func(r *claim.Rules) { pend(r); r.PopulatedRequired = true }, pvcs: siblings, reason: claim.NoNodePVC},
		"if pend and a revision is asked for that names don't carry":       {rules: pend, need: claim.Need{Revision: "v2"}, pvcs: siblings, reason: claim.NoNodePVC, says: []string{`do not carry revision "v2"`}},
		"if pend and the node has only another revision, refused":          {rules: pend, need: claim.Need{Revision: "v2"}, pvcs: with(pvc("x", "node-a", revision("v1"))), reason: claim.RevisionNotFound, says: []string{`"v1"`}},
		"if pend and the template carries the revision asked for, pended":  {rules: named("{claim}-{revision}-{node}", pend), need: claim.Need{Revision: "v2"}, pvcs: siblings, want: "model-cache-v2-node-a", pended: true},
		"if pend and a digest is asked for, the name carries it bare":      {rules: named("{claim}-{node}-{revision}", pend), need: claim.Need{Revision: "sha256:abc"}, pvcs: siblings, want: "model-cache-node-a-abc", pended: true},
		"if pend and names carry a revision and none is asked for":         {rules: named("{claim}-{revision}-{node}", pend), pvcs: siblings, reason: claim.NoNodePVC, says: []string{"asks for none"}},
		"if auto and names carry the revision of each sibling, pended":     {rules: named("{claim}-{node}-{revision}", auto), need: claim.Need{Revision: "v2"}, pvcs: []*claim.PVC{pvc("model-cache-node-b-v1", "node-b", revision("v1"))}, want: "model-cache-node-a-v2", pended: true},
		"if pend and the digest asked for is no label value":               {rules: named("{claim}-{node}-{revision}", pend), need: claim.Need{Revision: "sha256:" + strings.Repeat("ab", 32)}, pvcs: siblings, reason: claim.NoNodePVC, says: []string{"no label value"}},
		"if pend and the name is another claim's on another node":          {rules: pend, need: claim.Need{Declares: []string{"model"}, Node: "node-c"}, pvcs: []*claim.PVC{pvc("x", "node-b")}, more: []*claim.Node{node("cache-node-c")}, reason: claim.NoNodePVC, says: []string{`claim "model"'s PVC on node "cache-node-c"`}},
		"if pend and no other claim of that reading is known":              {rules: pend, need: claim.Need{Node: "node-c"}, pvcs: []*claim.PVC{pvc("x", "node-b")}, more: []*claim.Node{node("cache-node-c")}, want: "model-cache-node-c", pended: true},
		"if pend and the template is empty, refused":                       {rules: named("", pend), pvcs: siblings, reason: claim.NoNodePVC, says: []string{"not predictable"}},
		"if auto and the template is empty, refused even if declared":      {rules: named("", auto), need: declares, reason: claim.NoNodePVC},
		"if a node's name is no label value, the remedy is the annotation": {need: claim.Need{Node: strings.Repeat("n", 70)}, pvcs: siblings, reason: claim.NoNodePVC, says: []string{"annotated berth.dev/node"}},
	} {
		t.Run(what, c.run)
	}
}

func TestNameTemplateValidate(t *testing.T) {
	for template, want := range map[string]string{
		"": "", "{claim}-{node}": "", "x.{node}.{claim}.{revision}": "",
		"{claim}":               "lacks {node}",
		"{node}":                "lacks {claim}",
		"{claim}-{node}-{uid}":  "unknown placeholder {uid}",
		"{Claim}-{node}":        "unknown placeholder {Claim}",
		"{claim}-{node}-UPPER":  "no valid PVC name",
		"-{claim}-{node}":       "no valid PVC name",
		"{claim}-{node}-{}":     "unknown placeholder {}",
		"{claim}-{node}-{oops":  "no valid PVC name",
		"{claim}-{node}{claim}": "",
	} {
		t.Run("if the template is "+template, func(t *testing.T) {
			err := claim.NameTemplate(template).Validate()
			if want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, want)
			}
		})
	}
}

func TestIsClaimName(t *testing.T) {
	for name, want := range map[string]bool{
		"model-cache": true, "a.b": true, strings.Repeat("x", 63): true,
		"": false, strings.Repeat("x", 64): false, "-x": false, "a/b": false,
	} {
		assert.Equal(t, want, claim.IsClaimName(name), "%q", name)
	}
}

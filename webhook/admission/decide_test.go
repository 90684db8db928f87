package admission_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

const nodePVCs = "berth.dev/node-pvcs"

func TestMutate(t *testing.T) {
	serving := func(v *claimtest.View) {
		v.PVCs = append(v.PVCs, &claim.PVC{Namespace: "ml", Name: "model", Claim: "model", Phase: "Bound"})
	}
	for what, c := range map[string]struct {
		pod    any
		change func(*claimtest.View)
		names  []string // after the patch
		wrote  string   // the annotation in the patch; "" for no patch
		reason claim.Reason
		says   string // in the message or the first warning
		live   bool   // something is to be read live before it stands
	}{
		"if it is pinned, every claim is rewritten and others left":   {pod: podOn("node-a", nil, "scratch", "model", "kernels"), names: []string{"scratch", "model-node-a", "kernels-node-a"}, wrote: "kernels=kernels-node-a,model=model-node-a"},
		"if one claim can't be had, none is rewritten":                {pod: podOn("node-a", nil, "model", "kernels"), change: func(v *claimtest.View) { v.PVCs[2].Phase = "Lost" }, reason: claim.NoNodePVC, says: `"kernels"`, live: true},
		"if it is free and mounts a claim, it is refused":             {pod: unpinned("scratch", "model"), reason: claim.NotPinned, says: `volume "v1"`, live: true},
		"if it is free and mounts none, it passes at once":            {pod: unpinned("scratch"), names: []string{"scratch"}},
		"if it names a PVC that nobody knows, it passes after a read": {pod: unpinned("unknown"), names: []string{"unknown"}, live: true},
		"if a PVC bears the claim's own name, node PVCs win":          {pod: podOn("node-a", nil, "model"), change: serving, names: []string{"model-node-a"}, wrote: "model=model-node-a"},
		"if only a serving PVC is known, it passes after a read":      {pod: unpinned("model"), change: func(v *claimtest.View) { v.PVCs = nil; serving(v) }, names: []string{"model"}, live: true},
		"if the claim is declared and has no node PVC, it is pended":  {pod: podOn("node-a", map[string]string{"berth.dev/node-local-claims": "fresh, x"}, "fresh"), names: []string{"fresh-node-a"}, wrote: "fresh=fresh-node-a", says: "waits", live: true},
		"if what is declared is no claim name, it is not one":         {pod: unpinned("not a claim"), names: []string{"not a claim"}, live: true},
		"if it already names this node's PVC, it is left":             {pod: podOn("node-b", nil, "model-node-b"), names: []string{"model-node-b"}},
		"if a person wrote another node's PVC, it is refused":         {pod: podOn("node-b", nil, "model-node-a"), reason: claim.OtherNodesPVC, says: `node "node-a"'s`, live: true},
		"if Berth wrote another node's PVC, it chooses again":         {pod: podOn("node-b", map[string]string{nodePVCs: "model=model-node-a"}, "model-node-a"), names: []string{"model-node-b"}, wrote: "model=model-node-b"},
		"if the annotation is of another claim, it is refused":        {pod: podOn("node-b", map[string]string{nodePVCs: "kernels=model-node-a"}, "model-node-a"), reason: claim.OtherNodesPVC, live: true},
		"if a volume came later, only that is rewritten":              {pod: podOn("node-a", map[string]string{nodePVCs: "model=model-node-a"}, "model-node-a", "kernels"), names: []string{"model-node-a", "kernels-node-a"}, wrote: "kernels=kernels-node-a,model=model-node-a"},
		"if the name was pended and the pin is the same, it is left":  {pod: podOn("node-c", map[string]string{nodePVCs: "model=model-node-c"}, "model-node-c"), names: []string{"model-node-c"}, live: true},
		"if the name was pended and the pin moved, it chooses again":  {pod: podOn("node-a", map[string]string{nodePVCs: "model=model-node-c"}, "model-node-c"), names: []string{"model-node-a"}, wrote: "model=model-node-a", live: true},
		"if the name was pended and the pin is gone, it is refused":   {pod: object{"kind": "Pod", "metadata": object{"annotations": object{nodePVCs: "model=model-node-c"}}, "spec": object{"volumes": pvcVolumes("model-node-c")}}, reason: claim.NotPinned, live: true},
		"if the name is a claim and this node's PVC, it is left": {pod: podOn("node-a", nil, "both"), change: func(v *claimtest.View) {
			v.PVCs = append(v.PVCs, nodePVC("both", "node-a", "model"), nodePVC("z", "node-b", "both"))
		}, names: []string{"both"}, says: "taken as the PVC"},
		"if the name is a claim and another node's PVC, it is chosen": {pod: podOn("node-b", nil, "both"), change: func(v *claimtest.View) {
			v.PVCs = append(v.PVCs, nodePVC("both", "node-a", "model"), nodePVC("z", "node-b", "both"))
		}, names: []string{"z"}, wrote: "both=z"},
		"if a claim stands in two volumes, both, with a warning":        {pod: podOn("node-a", nil, "model", "model"), names: []string{"model-node-a", "model-node-a"}, wrote: "model=model-node-a", says: "several volumes"},
		"if annotations are there, the patch adds one key":              {pod: podOn("node-a", map[string]string{"x/y": "z"}, "model"), names: []string{"model-node-a"}, wrote: "model=model-node-a"},
		"if there is no metadata at all, the patch makes it":            {pod: object{"spec": object{"nodeName": "node-a", "volumes": pvcVolumes("model")}}, names: []string{"model-node-a"}, wrote: "model=model-node-a"},
		"if it is a mirror pod, it passes":                              {pod: podOn("node-a", map[string]string{"kubernetes.io/config.mirror": ""}, "model"), names: []string{"model"}},
		"if the revision annotation is malformed, it is refused":        {pod: podOn("node-a", map[string]string{"berth.dev/revision": "a,b"}, "model"), reason: claim.InvalidAnnotation, says: `"a,b"`, live: true},
		"if the revision annotation is a comma, it is refused":          {pod: podOn("node-a", map[string]string{"berth.dev/revision": ","}, "model"), reason: claim.InvalidAnnotation, live: true},
		"if the revision asked for is an empty digest, it is refused":   {pod: podOn("node-a", map[string]string{"berth.dev/revision": "sha256:"}, "model"), reason: claim.InvalidAnnotation, live: true},
		"if a malformed revision concerns its own node's PVC, it pass":  {pod: podOn("node-a", map[string]string{"berth.dev/revision": "a,b"}, "model-node-a"), names: []string{"model-node-a"}},
		"if it is free and names PVCs of two nodes, a warning":          {pod: unpinned("model-node-a", "kernels-node-b"), change: func(v *claimtest.View) { v.PVs[0].Affinity = hostAffinity("node-a") }, names: []string{"model-node-a", "kernels-node-b"}, says: "no node can run the pod"},
		"if it has more PVC volumes than any node can attach":           {pod: podOn("node-a", nil, slices.Repeat([]string{"model"}, 257)...), reason: claim.TooManyVolumes, says: "257"},
		"if the revision annotation names a claim twice, it is refused": {pod: podOn("node-a", map[string]string{"berth.dev/revision": "model=1,model=2"}, "model"), reason: claim.InvalidAnnotation, live: true},
		"if a malformed revision concerns no claim, it passes":          {pod: podOn("node-a", map[string]string{"berth.dev/revision": "a,b"}, "scratch"), names: []string{"scratch"}},
		"if the revision annotation is empty, none is asked for":        {pod: podOn("node-a", map[string]string{"berth.dev/revision": ""}, "model"), names: []string{"model-node-a"}, wrote: "model=model-node-a"},
		"if the revision is asked of another claim, it does not bind":   {pod: podOn("node-a", map[string]string{"berth.dev/revision": "kernels=7"}, "model"), names: []string{"model-node-a"}, wrote: "model=model-node-a"},
		"if the revision asked for is absent, it is refused":            {pod: podOn("node-a", map[string]string{"berth.dev/revision": "model=7"}, "model"), reason: claim.RevisionNotFound, live: true},
		"if selectors contradict, it is refused":                        {pod: object{"spec": object{"nodeName": "node-a", "nodeSelector": object{"kubernetes.io/hostname": "node-b"}, "volumes": pvcVolumes("model")}}, reason: claim.ContradictoryPin, live: true},
		"if it is free and names a node PVC tied to its node, it pass":  {pod: unpinned("model-node-a"), names: []string{"model-node-a"}, says: "any node"},
		"if it is free and names an unbound WaitForFirstConsumer PVC": {pod: unpinned("model-node-a"), change: func(v *claimtest.View) {
			v.PVCs[0].Phase, v.PVCs[0].StorageClass, v.PVCs[0].VolumeName = "Pending", "w", ""
			v.Classes = []*claim.StorageClass{{Name: "w", WaitForFirstConsumer: true}}
		}, reason: claim.UnboundNodePVC, live: true},
	} {
		t.Run(what, func(t *testing.T) {
			v := cluster()
			if c.change != nil {
				c.change(v)
			}
			req := create(t, c.pod)
			d, unsettled := decide(v, admission.Mutate, req)
			require.Equal(t, c.reason, d.Reason, d.Message)
			assert.Equal(t, c.live, len(unsettled) > 0, "to be read live: %v", unsettled)
			said := d.Message
			if len(d.Warnings) > 0 {
				said += d.Warnings[0]
			}
			assert.Contains(t, said, c.says)
			if c.reason != "" {
				assert.Empty(t, d.Patch)
				return
			}
			after := apply(t, req.Object, d)
			assert.Equal(t, c.names, claimNames(t, after))
			assert.Equal(t, c.wrote != "", len(d.Patch) > 0)
			if c.wrote != "" {
				assert.Equal(t, c.wrote, d.PVCs)
				assert.Contains(t, string(after), `"berth.dev/node-pvcs":"`+c.wrote+`"`)
			}
			again, _ := decide(v, admission.Mutate, create(t, rawJSON(after)))
			assert.Equal(t, "allowed", again.Result(), "a second pass changes nothing: %s", again.Message)
			twin, _ := decide(v, admission.Validate, create(t, rawJSON(after)))
			assert.Equal(t, "allowed", twin.Result(), "the twin agrees: %s", twin.Message)
		})
	}
}

func TestTwin(t *testing.T) {
	for what, c := range map[string]struct {
		pod    any
		change func(*claimtest.View)
		reason claim.Reason
	}{
		"if a node-local claim is left, it is refused":             {pod: podOn("node-a", nil, "model"), reason: claim.NodeLocalClaimLeft},
		"if a node-local claim is left in a free pod, refused":     {pod: unpinned("scratch", "model"), reason: claim.NodeLocalClaimLeft},
		"if a declared claim is left, it is refused":               {pod: podOn("node-a", map[string]string{"berth.dev/node-local-claims": "fresh"}, "fresh"), reason: claim.NodeLocalClaimLeft},
		"if the PVC is another node's, it is refused":              {pod: podOn("node-b", nil, "model-node-a"), reason: claim.OtherNodesPVC},
		"if Berth wrote it before the pin moved, it is refused":    {pod: podOn("node-b", map[string]string{nodePVCs: "model=model-node-a"}, "model-node-a"), reason: claim.OtherNodesPVC},
		"if the PVC is this node's, it passes":                     {pod: podOn("node-a", nil, "model-node-a")},
		"if the PVC is this node's and not ready, it passes":       {pod: podOn("node-a", nil, "model-node-a"), change: func(v *claimtest.View) { v.PVCs[0].Populated, v.PVCs[0].HasPopulated = "false", true }},
		"if the PVC is this node's of an old revision, it passes":  {pod: podOn("node-a", map[string]string{"berth.dev/revision": "new"}, "model-node-a")},
		"if a free pod names a node PVC, it passes":                {pod: unpinned("model-node-a")},
		"if the constraints contradict and no claim is left, pass": {pod: object{"spec": object{"nodeName": "node-a", "nodeSelector": object{"kubernetes.io/hostname": "node-b"}, "volumes": pvcVolumes("model-node-a")}}},
		"if a pended name stands, it passes":                       {pod: podOn("node-c", map[string]string{nodePVCs: "model=model-node-c"}, "model-node-c")},
		"if a PVC of the claim's name is this node's, it passes":   {pod: podOn("node-a", nil, "model"), change: func(v *claimtest.View) { v.PVCs[0].Name = "model" }},
		"if a PVC of the claim's name is another node's, refused":  {pod: podOn("node-b", nil, "model"), change: func(v *claimtest.View) { v.PVCs[0].Name = "model" }, reason: claim.NodeLocalClaimLeft},
	} {
		t.Run(what, func(t *testing.T) {
			v := cluster()
			if c.change != nil {
				c.change(v)
			}
			d, _ := decide(v, admission.Validate, create(t, c.pod))
			assert.Equal(t, c.reason, d.Reason, d.Message)
			assert.Empty(t, d.Patch, "the twin never patches")
		})
	}
}

package admission_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

// newPVC is a node PVC as it is created.
func newPVC(change func(meta, spec object)) object {
	meta := object{"name": "new", "labels": object{"berth.dev/claim": "model", "berth.dev/node": "node-b"}}
	spec := object{"storageClassName": "wffc", "accessModes": []any{"ReadWriteOnce"}}
	if change != nil {
		change(meta, spec)
	}
	return object{"kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}
}

func TestNodePVCsGetTheirNodeSelected(t *testing.T) {
	local := func(host string, available bool) func(*claimtest.View) {
		return func(v *claimtest.View) {
			v.PVs = append(v.PVs, &claim.PV{Name: "by-hand", StorageClass: "wffc", Available: available, Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{host}}},
			}}}})
		}
	}
	for what, c := range map[string]struct {
		pvc      func(meta, spec object)
		view     func(*claimtest.View)
		selected bool
		warns    string
		live     bool
	}{
		"if the class waits for a consumer, the node is selected":     {selected: true},
		"if the key is there, whatever its value, it is left":         {pvc: func(m, _ object) { m["annotations"] = object{claim.AnnSelectedNode: ""} }},
		"if other annotations are there, they stay":                   {pvc: func(m, _ object) { m["annotations"] = object{"a": "b"} }, selected: true},
		"if the Node does not exist, a warning and no selection":      {pvc: func(m, _ object) { m["labels"].(object)["berth.dev/node"] = "node-x" }, warns: `no Node "node-x"`, live: true},
		"if the class binds at once, no selection":                    {pvc: func(_, s object) { s["storageClassName"] = "fast" }},
		"if the class has no provisioner, no selection":               {pvc: func(_, s object) { s["storageClassName"] = "manual" }},
		"if the class is not known, no selection, after a read":       {pvc: func(_, s object) { s["storageClassName"] = "new" }, live: true},
		"if there is no class, no selection":                          {pvc: func(_, s object) { delete(s, "storageClassName") }},
		"if a volume is named, no selection":                          {pvc: func(_, s object) { s["volumeName"] = "pv" }},
		"if volumes are selected by label, no selection":              {pvc: func(_, s object) { s["selector"] = object{} }},
		"if an Available PV admits the node, no selection":            {view: local("node-b", true)},
		"if an Available PV admits another node only, it is selected": {view: local("node-a", true), selected: true},
		"if the PV that admits the node is taken, it is selected":     {view: local("node-b", false), selected: true},
		"if an Available PV is of another class, it is selected": {view: func(v *claimtest.View) {
			v.PVs = append(v.PVs, &claim.PV{Name: "x", StorageClass: "fast", Available: true})
		}, selected: true},
		"if it is no node PVC, it is left":                {pvc: func(m, _ object) { m["labels"] = object{"berth.dev/claim": "model"} }},
		"if it has no labels, it is left":                 {pvc: func(m, _ object) { delete(m, "labels") }},
		"if the node stands in the annotation, that one":  {pvc: func(m, _ object) { m["annotations"] = object{"berth.dev/node": "node-a"} }, selected: true},
		"if a twin serves the node, a warning":            {pvc: func(m, _ object) { m["name"] = "twin" }, view: func(*claimtest.View) {}, selected: true, warns: `"model-node-b" already serves`},
		"if it is another revision, no twin":              {pvc: func(m, _ object) { m["labels"].(object)["berth.dev/revision"] = "2" }, selected: true, warns: "-"},
		"if it is ReadWriteOncePod, a warning":            {pvc: func(_, s object) { s["accessModes"] = []any{"ReadWriteOncePod"} }, selected: true, warns: "ReadWriteOncePod"},
		"if the claim label is no label value, a warning": {pvc: func(m, _ object) { m["labels"].(object)["berth.dev/claim"] = "not a claim" }, selected: true, warns: "no label value"},
	} {
		t.Run(what, func(t *testing.T) {
			v := cluster()
			v.Classes = []*claim.StorageClass{{Name: "wffc", Provisioner: "p", WaitForFirstConsumer: true}, {Name: "fast", Provisioner: "p"}, {Name: "manual", Provisioner: "kubernetes.io/no-provisioner", WaitForFirstConsumer: true}}
			if c.view != nil {
				c.view(v)
			} else if c.warns != "-" {
				v.PVCs = v.PVCs[2:] // no twin
			}
			req := change(t, "", "persistentvolumeclaims", newPVC(c.pvc), nil)
			d, unsettled := decide(v, admission.Mutate, req)
			assert.True(t, d.Allowed(), d.Message)
			assert.Equal(t, c.live, len(unsettled) > 0, "%v", unsettled)
			after := string(apply(t, req.Object, d))
			node := "node-b"
			if what == "if the node stands in the annotation, that one" {
				node = "node-a"
			}
			assert.Equal(t, c.selected, len(d.Patch) == 1)
			if c.selected {
				assert.Contains(t, after, `"volume.kubernetes.io/selected-node":"`+node+`"`)
			}
			if c.warns != "" && c.warns != "-" {
				assert.Contains(t, d.Warnings[0]+d.Warnings[len(d.Warnings)-1], c.warns)
			} else if c.view == nil {
				assert.Empty(t, d.Warnings)
			}
			validated, _ := decide(v, admission.Validate, req)
			assert.Empty(t, validated.Patch, "only the mutating road patches")
		})
	}
}

func TestNodePVCUpdates(t *testing.T) {
	bound := func(o object) object { o["status"] = object{"phase": "Bound"}; return o }
	relabel := func(m, _ object) { m["labels"].(object)["berth.dev/node"] = "node-a" }
	for what, c := range map[string]struct {
		now, old object
		warns    bool
	}{
		"if a bound PVC changes its node, a warning":  {now: newPVC(relabel), old: bound(newPVC(nil)), warns: true},
		"if it loses its claim label, a warning":      {now: newPVC(func(m, _ object) { delete(m, "labels") }), old: bound(newPVC(nil)), warns: true},
		"if it is not bound, nothing":                 {now: newPVC(relabel), old: newPVC(nil)},
		"if nothing of that changes, nothing":         {now: bound(newPVC(nil)), old: bound(newPVC(nil))},
		"if it was no node PVC, nothing":              {now: newPVC(nil), old: bound(newPVC(func(m, _ object) { delete(m, "labels") }))},
		"if the old one can't be read, nothing fails": {now: newPVC(nil), old: object{"spec": "x"}},
	} {
		t.Run(what, func(t *testing.T) {
			d, _ := decide(cluster(), admission.Mutate, change(t, "", "persistentvolumeclaims", c.now, c.old))
			assert.True(t, d.Allowed())
			assert.Empty(t, d.Patch)
			assert.Equal(t, c.warns, len(d.Warnings) > 0)
		})
	}
}

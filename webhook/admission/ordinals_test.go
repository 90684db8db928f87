package admission_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

func noSchedule(key string) corev1.Taint {
	return corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule}
}

// set is a StatefulSet "db" with one claim template "data" and a node-local claim.
func set(change func(spec object)) object {
	spec := object{
		"replicas": 2, "template": object{"spec": podSpec("", "model")},
		"volumeClaimTemplates": []any{object{"metadata": object{"name": "data"}, "spec": object{"storageClassName": "wffc"}}},
	}
	if change != nil {
		change(spec)
	}
	return named(object{"spec": spec}, "db")
}

// ownVolumes adds bound local PVCs of their own for pods of the set.
func ownVolumes(v *claimtest.View, hosts map[string]string) {
	for pvc, host := range hosts {
		v.PVCs = append(v.PVCs, &claim.PVC{Namespace: "ml", Name: pvc, Phase: corev1.ClaimBound, VolumeName: "pv-" + pvc})
		v.PVs = append(v.PVs, &claim.PV{Name: "pv-" + pvc, Affinity: hostAffinity(host)})
	}
}

func TestStatefulSetsByTheirOwnVolumes(t *testing.T) {
	two := map[string]string{"data-db-0": "node-a", "data-db-1": "node-b"}
	for what, c := range map[string]struct {
		set     func(object)
		volumes map[string]string
		view    func(*claimtest.View)
		reason  claim.Reason
		says    []string // in the message, or the first warning
	}{
		"if every pod's own volume ties it to a node, admitted":        {volumes: two},
		"if one pod's PVC does not exist, refused naming it":           {volumes: map[string]string{"data-db-0": "node-a"}, reason: claim.NotPinned, says: []string{`PVC "data-db-1" does not exist`, "local volumes"}},
		"if one is being deleted, refused":                             {volumes: two, view: func(v *claimtest.View) { v.PVCs[len(v.PVCs)-1].Deleting = true }, reason: claim.NotPinned, says: []string{"being deleted"}},
		"if one is not bound, refused":                                 {volumes: two, view: func(v *claimtest.View) { v.PVCs[len(v.PVCs)-1].Phase = "Pending" }, reason: claim.NotPinned, says: []string{"is not bound"}},
		"if the volumes are tied to no node, refused":                  {volumes: two, view: func(v *claimtest.View) { v.PVs[1].Affinity, v.PVs[2].Affinity = nil, nil }, reason: claim.NotPinned, says: []string{"pod 0", "pod 1"}},
		"if it counts from another number, those PVCs":                 {set: func(s object) { s["ordinals"] = object{"start": 5} }, volumes: map[string]string{"data-db-5": "node-a", "data-db-6": "node-b"}},
		"if replicas are absent, there is one":                         {set: func(s object) { delete(s, "replicas") }, volumes: map[string]string{"data-db-0": "node-a"}},
		"if there are none, admitted with a warning":                   {set: func(s object) { s["replicas"] = 0 }, says: []string{"no replicas"}},
		"if the class binds at once and no PVC exists, with a warning": {set: func(s object) { class(s, "fast") }, says: []string{`"data-db-0" does not exist yet`}},
		"if the default class binds at once, with a warning":           {set: func(s object) { class(s, nil) }, view: func(v *claimtest.View) { v.Classes[1].Default = true }, says: []string{"does not exist yet"}},
		"if the default class waits, refused":                          {set: func(s object) { class(s, nil) }, view: func(v *claimtest.View) { v.Classes[0].Default = true }, reason: claim.NotPinned},
		"if there is no class at all, refused":                         {set: func(s object) { class(s, "") }, reason: claim.NotPinned},
		"if there is no claim template, refused":                       {set: func(s object) { delete(s, "volumeClaimTemplates") }, reason: claim.NotPinned, says: []string{"its pods get a node only after admission"}},
		"if the template is pinned, admitted":                          {set: func(s object) { s["template"] = object{"spec": podSpec("node-a", "model")} }},
		"if only five of many failures are listed":                     {set: func(s object) { s["replicas"] = 1000000000 }, reason: claim.NotPinned, says: []string{"data-db-4"}},
		"if the claim template takes the volume's place, nothing is":   {set: func(s object) { s["volumeClaimTemplates"].([]any)[0].(object)["metadata"] = object{"name": "v0"} }},
		"if a claim template takes the place of a volume that pins, it does not": {set: func(s object) {
			s["template"] = object{"spec": podSpec("", "model", "data-x")}
			s["volumeClaimTemplates"].([]any)[0].(object)["metadata"] = object{"name": "v1"}
		}, volumes: map[string]string{"data-x": "node-a", "v1-db-0": "node-b"}, reason: claim.NotPinned, says: []string{`PVC "v1-db-1" does not exist`}},
		"if it counts beyond what numbers hold, it ends":   {set: func(s object) { s["ordinals"] = object{"start": json.Number("9223372036854775807")} }, reason: claim.NotPinned},
		"if PVCs go with the set, admitted with a warning": {set: func(s object) { s["persistentVolumeClaimRetentionPolicy"] = object{"whenDeleted": "Delete"} }, volumes: two, says: []string{"RetentionPolicy"}},
		"if numbers are reserved, they are left out":       {set: func(s object) { s["reserveOrdinals"] = []any{0, "2-3"} }, volumes: map[string]string{"data-db-1": "node-a", "data-db-4": "node-b"}},
		"if absurdly many are reserved, it ends":           {set: func(s object) { s["reserveOrdinals"] = []any{"0-9223372036854775807"} }},
		"if volumes of one pod contradict, refused": {set: func(s object) {
			s["replicas"] = 1
			s["volumeClaimTemplates"] = append(s["volumeClaimTemplates"].([]any), object{"metadata": object{"name": "logs"}})
		}, volumes: map[string]string{"data-db-0": "node-a", "logs-db-0": "node-b"}, reason: claim.NotPinned},
		"if the selector contradicts nothing but pins, it is pinned": {set: func(s object) { s["template"] = object{"spec": podSpec("node-b", "model")} }, volumes: two},
		"if the template's own constraints contradict, refused as such": {set: func(s object) {
			p := podSpec("node-b", "model")
			p["nodeName"] = "node-a"
			s["template"] = object{"spec": p}
		}, reason: claim.ContradictoryPin},
	} {
		t.Run(what, func(t *testing.T) {
			v := cluster()
			v.Classes = []*claim.StorageClass{{Name: "wffc", WaitForFirstConsumer: true}, {Name: "fast"}}
			ownVolumes(v, c.volumes)
			if c.view != nil {
				c.view(v)
			}
			d, _ := decide(v, admission.Validate, change(t, "apps", "statefulsets", set(c.set), nil))
			assert.Equal(t, c.reason, d.Reason, d.Message)
			said := d.Message
			if len(d.Warnings) > 0 {
				said += d.Warnings[0]
			}
			for _, s := range c.says {
				assert.Contains(t, said, s)
			}
			assert.NotContains(t, said, "data-db-5")
		})
	}
}

func class(s object, name any) {
	s["volumeClaimTemplates"].([]any)[0].(object)["spec"] = object{"storageClassName": name}
}

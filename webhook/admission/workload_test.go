package admission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

// spec is a pod spec that mounts claims, pinned to a host unless that is "".
func podSpec(host string, claims ...string) object {
	s := object{"containers": []any{object{"name": "c"}}, "volumes": pvcVolumes(claims...)}
	if host != "" {
		s["nodeSelector"] = object{"kubernetes.io/hostname": host}
	}
	return s
}

// nest puts a value at a path; * makes a list of one.
func nest(path string, value any) object {
	steps := strings.Split(path, ".")
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i] == "*" {
			value = []any{value}
		} else {
			value = object{steps[i]: value}
		}
	}
	return value.(object)
}

// builtIn are the kinds that Kubernetes has, and where their templates stand.
var builtIn = map[string]struct{ group, resource, path string }{
	"DaemonSet":             {"apps", "daemonsets", "spec.template"},
	"Deployment":            {"apps", "deployments", "spec.template"},
	"ReplicaSet":            {"apps", "replicasets", "spec.template"},
	"StatefulSet":           {"apps", "statefulsets", "spec.template"},
	"ReplicationController": {"", "replicationcontrollers", "spec.template"},
	"Job":                   {"batch", "jobs", "spec.template"},
	"CronJob":               {"batch", "cronjobs", "spec.jobTemplate.spec.template"},
}

// others are kinds of other projects whose pods the scheduler places.
var others = map[string]struct{ group, resource, path string }{
	"Rollout":                   {"argoproj.io", "rollouts", "spec.template"},
	"CloneSet":                  {"apps.kruise.io", "clonesets", "spec.template"},
	"Kruise StatefulSet":        {"apps.kruise.io", "statefulsets", "spec.template"},
	"LeaderWorkerSet's leader":  {"leaderworkerset.x-k8s.io", "leaderworkersets", "spec.leaderWorkerTemplate.leaderTemplate"},
	"LeaderWorkerSet's workers": {"leaderworkerset.x-k8s.io", "leaderworkersets", "spec.leaderWorkerTemplate.workerTemplate"},
	"RayCluster's head":         {"ray.io", "rayclusters", "spec.headGroupSpec.template"},
	"RayCluster's workers":      {"ray.io", "rayclusters", "spec.workerGroupSpecs.*.template"},
	"JobSet":                    {"jobset.x-k8s.io", "jobsets", "spec.replicatedJobs.*.template.spec.template"},
	"Knative Service":           {"serving.knative.dev", "services", "spec.template"},
}

func named(o object, name string) object {
	o["metadata"] = object{"name": name, "namespace": "ml"}
	return o
}

func change(t testing.TB, group, resource string, object, old any) *admission.Request {
	req := create(t, object)
	req.Group, req.Resource = group, resource
	if old != nil {
		raw, err := json.Marshal(old)
		require.NoError(t, err)
		req.Operation, req.OldObject = "UPDATE", raw
	}
	return req
}

func TestUnpinnedTemplatesAreRefusedAndPinnedOnesAdmitted(t *testing.T) {
	kinds := map[string]struct{ group, resource, path string }{}
	for kind, k := range others {
		kinds[kind] = k
	}
	for kind, k := range builtIn {
		if kind != "DaemonSet" {
			kinds[kind] = k
		}
	}
	for kind, k := range kinds {
		for _, road := range []admission.Road{admission.Mutate, admission.Validate} {
			t.Run(kind+" on "+string(road), func(t *testing.T) {
				d, unsettled := decide(cluster(), road, change(t, k.group, k.resource, named(nest(k.path, object{"spec": podSpec("", "model")}), "vllm"), nil))
				assert.Equal(t, claim.NotPinned, d.Reason, "unpinned")
				assert.NotEmpty(t, unsettled, "a refusal is confirmed live")
				assert.Contains(t, d.Message, `"vllm"`)
				assert.Contains(t, d.Message, `mounts node-local claim "model" (volume "v0"), but its pods`)
				assert.Contains(t, d.Message, "Nodes that hold this claim: node-a, node-b.")
				assert.Contains(t, d.Causes[0].Field, strings.ReplaceAll(k.path, ".*", "[0]")+".spec.volumes[0]")

				d, _ = decide(cluster(), road, change(t, k.group, k.resource, named(nest(k.path, object{"spec": podSpec("node-a", "model")}), "vllm"), nil))
				assert.Equal(t, "allowed", d.Result(), "pinned: %s", d.Message)
				assert.Empty(t, d.Patch, "a workload is never patched")

				d, unsettled = decide(cluster(), road, change(t, k.group, k.resource, named(nest(k.path, object{"spec": podSpec("", "scratch")}), "vllm"), nil))
				assert.Equal(t, "allowed", d.Result(), "no node-local claim")
				assert.Empty(t, unsettled)
			})
		}
	}
}

func TestRatcheting(t *testing.T) {
	for kind, k := range builtIn {
		if kind == "DaemonSet" {
			continue
		}
		build := func(s object) object { return named(nest(k.path, object{"spec": s}), "old") }
		before := func() object { return build(podSpec("", "model")) }
		for what, c := range map[string]struct {
			old, now func() object
			reason   claim.Reason
			warns    bool
		}{
			"if the image changes of what was unpinned before, it is admitted": {old: before, now: func() object { s := podSpec("", "model"); s["image"] = "new"; return build(s) }, warns: true},
			"if only something beside the template changes, in silence": {old: before, now: func() object {
				o := before()
				o["status"] = object{"x": 1}
				o["metadata"].(object)["finalizers"] = []any{}
				return o
			}},
			"if the object is being deleted, whatever changes": {old: func() object { return build(podSpec("")) }, now: func() object {
				o := before()
				o["metadata"].(object)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
				return o
			}},
			"if a claim is added to what had another, it is refused":      {old: before, now: func() object { return build(podSpec("", "model", "kernels")) }, reason: claim.NotPinned},
			"if a claim is added to what had none, it is refused":         {old: func() object { return build(podSpec("")) }, now: before, reason: claim.NotPinned},
			"if what was pinned is no longer, it is refused":              {old: func() object { return build(podSpec("node-a", "model")) }, now: before, reason: claim.NotPinned},
			"if what was unpinned becomes a contradiction, it is refused": {old: before, now: func() object { s := podSpec("node-a", "model"); s["nodeName"] = "node-b"; return build(s) }, reason: claim.ContradictoryPin},
			"if what was unpinned is pinned, it is admitted":              {old: before, now: func() object { return build(podSpec("node-b", "model")) }},
			"if the claim is taken away, it is admitted":                  {old: before, now: func() object { return build(podSpec("", "scratch")) }},
			"if the old object can't be read, nothing gets stuck":         {old: func() object { return object{"spec": "x"} }, now: before},
		} {
			t.Run(kind+": "+what, func(t *testing.T) {
				d, _ := decide(cluster(), admission.Validate, change(t, k.group, k.resource, c.now(), c.old()))
				assert.Equal(t, c.reason, d.Reason, d.Message)
				assert.Equal(t, c.warns, len(d.Warnings) > 0, "%v", d.Warnings)
				if c.reason != "" && what == "if a claim is added to what had another, it is refused" {
					assert.Contains(t, d.Message, `"kernels"`, "the claim that is new")
				}
			})
		}
	}
}

func TestWorkloadsThatAreOnlyWarned(t *testing.T) {
	owned := named(nest("spec.template", object{"spec": podSpec("", "model")}), "rs")
	owned["metadata"].(object)["ownerReferences"] = []any{object{"kind": "Deployment", "name": "d", "controller": true}}
	suspended := named(nest("spec.template", object{"spec": podSpec("", "model")}), "j")
	suspended["spec"].(object)["suspend"] = true
	for what, req := range map[string]*admission.Request{
		"if a ReplicaSet has a controller":       change(t, "apps", "replicasets", owned, nil),
		"if a Job is suspended":                  change(t, "batch", "jobs", suspended, nil),
		"if a CronJob's Jobs are born suspended": change(t, "batch", "cronjobs", object{"spec": object{"jobTemplate": object{"spec": object{"suspend": true, "template": object{"spec": podSpec("", "model")}}}}}, nil),
		"if a JobSet is suspended":               change(t, "jobset.x-k8s.io", "jobsets", object{"spec": object{"suspend": true, "replicatedJobs": []any{nest("template.spec.template", object{"spec": podSpec("", "model")})}}}, nil),
	} {
		t.Run(what, func(t *testing.T) {
			d, _ := decide(cluster(), admission.Validate, req)
			assert.True(t, d.Allowed())
			require.Len(t, d.Warnings, 1)
			assert.Contains(t, d.Warnings[0], `claim "model" (NotPinned)`)
		})
	}
	suspended["spec"].(object)["suspend"] = false
	d, _ := decide(cluster(), admission.Validate, change(t, "batch", "jobs", suspended, nil))
	assert.Equal(t, claim.NotPinned, d.Reason, "a Job that runs is refused")
}

func TestWorkloadsNobodyKnowsWell(t *testing.T) {
	free := podSpec("", "model")
	for what, c := range map[string]struct {
		group, resource string
		object          any
		reason          claim.Reason
		warns           bool
	}{
		"if a kind nobody told Berth about has a template, it is warned":  {group: "x.io", resource: "widgets", object: nest("spec.template", object{"spec": free}), warns: true},
		"if such a kind has a contradiction in it, it is warned":          {warns: true, group: "x.io", resource: "widgets", object: nest("spec.template", object{"spec": object{"nodeName": "node-a", "nodeSelector": object{"kubernetes.io/hostname": "node-b"}, "volumes": pvcVolumes("model")}})},
		"if such a kind's spec.template is something else, it passes":     {group: "x.io", resource: "widgets", object: nest("spec.template", "a string")},
		"if such a kind has no spec, it passes":                           {group: "x.io", resource: "widgets", object: object{}},
		"if a Rollout refers to a Deployment and has no template, passes": {group: "argoproj.io", resource: "rollouts", object: nest("spec.workloadRef", object{"name": "x"})},
		"if a RayCluster's groups are null, it passes":                    {group: "ray.io", resource: "rayclusters", object: nest("spec.workerGroupSpecs", nil)},
		"if a Deployment has no template, it passes":                      {group: "apps", resource: "deployments", object: object{"spec": object{}}},
		"if a Deployment's spec is a string, it is no Deployment":         {group: "apps", resource: "deployments", object: object{"spec": "oops"}, reason: claim.InvalidObject},
		"if a Deployment's volumes are a string, it is no Deployment":     {group: "apps", resource: "deployments", object: nest("spec.template.spec.volumes", "oops"), reason: claim.InvalidObject},
		"if a CronJob names a node PVC itself, its pods are judged":       {group: "batch", resource: "cronjobs", object: nest("spec.jobTemplate.spec.template", object{"spec": podSpec("", "model-node-a")})},
		"if a template declares a claim, it is one":                       {group: "apps", resource: "deployments", object: nest("spec.template", object{"metadata": object{"annotations": object{"berth.dev/node-local-claims": "fresh"}}, "spec": podSpec("", "fresh")}), reason: claim.NotPinned},
		"if a pinned template's revision can't be read, it is refused":    {group: "apps", resource: "deployments", object: nest("spec.template", object{"metadata": object{"annotations": object{"berth.dev/revision": "a,b"}}, "spec": podSpec("node-a", "model")}), reason: claim.InvalidAnnotation},
	} {
		t.Run(what, func(t *testing.T) {
			d, _ := decide(cluster(), admission.Validate, change(t, c.group, c.resource, c.object, nil))
			assert.Equal(t, c.reason, d.Reason, d.Message)
			assert.Equal(t, c.warns, len(d.Warnings) > 0, "%v", d.Warnings)
		})
	}
}

func TestAPinnedTemplateIsWarnedOfWhatItsPodsWillMeet(t *testing.T) {
	v := cluster()
	v.PVCs[0].Phase = "Lost"
	rules := claim.DefaultRules()
	rules.Missing = claim.MissingDeny
	reads := claim.NewReads(v, &rules, nil)
	d := admission.Decide(admission.Validate, change(t, "apps", "deployments", nest("spec.template", object{"spec": podSpec("node-a", "model")}), nil), reads)
	assert.True(t, d.Allowed())
	require.NotEmpty(t, d.Warnings)
	assert.Contains(t, d.Warnings[0], "would be refused today")
	assert.NotEmpty(t, reads.Unsettled(), "which is first read live")
}

func TestDaemonSetsAreAdmittedWithTheNodesThatLackThePVC(t *testing.T) {
	v := cluster()
	tainted := &claim.Node{Name: "node-t", Labels: map[string]string{"kubernetes.io/hostname": "node-t"}}
	tainted.Taints = append(tainted.Taints, noSchedule("gpu"))
	cordoned := &claim.Node{Name: "node-c", Labels: map[string]string{"kubernetes.io/hostname": "node-c", "pool": "x"}}
	cordoned.Taints = append(cordoned.Taints, noSchedule("node.kubernetes.io/unschedulable"))
	v.Nodes = append(v.Nodes, tainted, cordoned)
	v.PVCs[1].Phase = "Pending"
	for what, c := range map[string]struct {
		spec    func(object)
		lacks   string // "" for no warning
		settled bool   // nothing is to be read live
	}{
		"if it runs everywhere, those without a ready PVC are named": {lacks: `claim "model" is not ready on 2 of 3 nodes: node-b (Pending), node-c (Missing)`},
		"if it tolerates the taint, that node too":                   {spec: func(s object) { s["tolerations"] = []any{object{"operator": "Exists"}} }, lacks: "3 of 4 nodes: node-b (Pending), node-c (Missing), node-t (Missing)"},
		"if a selector leaves ready nodes only, there is no warning": {spec: func(s object) { s["nodeSelector"] = object{"kubernetes.io/hostname": "node-a"} }},
		"if a selector leaves one that lacks it, it is named":        {spec: func(s object) { s["nodeSelector"] = object{"pool": "x"} }, lacks: "1 of 1 nodes: node-c (Missing)"},
		"if it runs nowhere, that is said":                           {spec: func(s object) { s["nodeSelector"] = object{"nope": "x"} }, lacks: "run on no node today", settled: true},
		"if affinity narrows it, that counts":                        {spec: func(s object) { s["affinity"] = onNode("node-b") }, lacks: "1 of 1 nodes: node-b (Pending)"},
	} {
		for _, group := range []string{"apps", "apps.kruise.io"} {
			t.Run(group+": "+what, func(t *testing.T) {
				s := podSpec("", "model")
				if c.spec != nil {
					c.spec(s)
				}
				req := change(t, group, "daemonsets", named(nest("spec.template", object{"spec": s}), "ds"), nil)
				d, unsettled := decide(v, admission.Validate, req)
				assert.True(t, d.Allowed())
				assert.Equal(t, c.lacks != "" && !c.settled, len(unsettled) > 0, "a warning is first read live")
				if c.lacks == "" {
					assert.Empty(t, d.Warnings)
					return
				}
				require.Len(t, d.Warnings, 1)
				assert.Contains(t, d.Warnings[0], c.lacks)
			})
		}
	}
	v.PVCs[0].ReadWriteOncePod = true
	d, _ := decide(v, admission.Validate, change(t, "apps", "daemonsets", nest("spec.template", object{"spec": podSpec("node-a", "model")}), nil))
	require.Len(t, d.Warnings, 1)
	assert.Contains(t, d.Warnings[0], "a surge pod (maxSurge) waits")

	rules := claim.DefaultRules()
	places := admission.Places(change(t, "apps", "daemonsets", nest("spec.template", object{"spec": podSpec("", "model")}), nil), claim.NewReads(v, &rules, nil))
	assert.Equal(t, []admission.Place{
		{Node: "node-a", Claim: "model", State: claim.StateReady, PVC: "model-node-a", Outcome: "mounts model-node-a"},
		{Node: "node-b", Claim: "model", State: claim.StatePending, PVC: "model-node-b", Outcome: "waits for model-node-b"},
		{Node: "node-c", Claim: "model", State: claim.StateMissing, Outcome: "waits for model-node-c"},
	}, places)
	assert.Empty(t, admission.Places(change(t, "apps", "deployments", nest("spec.template", object{"spec": podSpec("", "model")}), nil), claim.NewReads(&claimtest.View{}, &rules, nil)))
}

package admission

import "slices"

// Kind is a kind of object that Berth judges, as a webhook configuration
// registers it.
type Kind struct {
	Group, Version, Resource string
	Operations               []string
}

// Kinds are the kinds that the shipped configuration registers. An
// administrator may register others: see workloadKinds.
func Kinds() []Kind {
	kinds := []Kind{
		{Version: "v1", Resource: "pods", Operations: []string{"CREATE"}},
		{Version: "v1", Resource: "persistentvolumeclaims", Operations: []string{"CREATE", "UPDATE"}},
	}
	for _, k := range workloadKinds {
		if k.version != "" {
			kinds = append(kinds, Kind{Group: k.group, Version: k.version, Resource: k.resource, Operations: []string{"CREATE", "UPDATE"}})
		}
	}
	return kinds
}

// placing is how a workload's pods get their nodes.
type placing uint8

const (
	byScheduler   placing = iota // pods get a node after admission, unless the template is pinned
	onEveryNode                  // the controller names the node in each pod
	byOwnVolumes                 // a StatefulSet: each pod's own volumes may tie it to a node
	unknownPlaces                // of a kind that nobody told Berth about
)

// workloadKind is a kind with pod templates.
type workloadKind struct {
	group, resource string
	version         string // of the kinds built into Kubernetes; "" for others
	kind            string
	placing         placing
	templates       []string // paths; * stands for each item of a list
	suspends        bool     // its pods may be held back, and its template pinned meanwhile
}

// podTemplate is where nearly every kind has its template.
const podTemplate = "spec.template"

// workloadKinds are the kinds built into Kubernetes, and those of others whose
// templates stand elsewhere or whose pods get their nodes otherwise. Nobody writes to it.
var workloadKinds = []workloadKind{
	{"apps", "daemonsets", "v1", "DaemonSet", onEveryNode, []string{podTemplate}, false},
	{"apps", "deployments", "v1", "Deployment", byScheduler, []string{podTemplate}, false},
	{"apps", "replicasets", "v1", "ReplicaSet", byScheduler, []string{podTemplate}, false},
	{"apps", "statefulsets", "v1", "StatefulSet", byOwnVolumes, []string{podTemplate}, false},
	{"", "replicationcontrollers", "v1", "ReplicationController", byScheduler, []string{podTemplate}, false},
	{"batch", "jobs", "v1", "Job", byScheduler, []string{podTemplate}, true},
	{"batch", "cronjobs", "v1", "CronJob", byScheduler, []string{"spec.jobTemplate.spec.template"}, true},

	{"apps.kruise.io", "daemonsets", "", "DaemonSet", onEveryNode, []string{podTemplate}, false},
	{"apps.kruise.io", "broadcastjobs", "", "BroadcastJob", onEveryNode, []string{podTemplate}, false},
	{"apps.kruise.io", "statefulsets", "", "StatefulSet", byOwnVolumes, []string{podTemplate}, false},
	{"apps.kruise.io", "clonesets", "", "CloneSet", byScheduler, []string{podTemplate}, false},
	{"argoproj.io", "rollouts", "", "Rollout", byScheduler, []string{podTemplate}, false},
	{"jobset.x-k8s.io", "jobsets", "", "JobSet", byScheduler, []string{"spec.replicatedJobs.*.template.spec.template"}, true},
	{"leaderworkerset.x-k8s.io", "leaderworkersets", "", "LeaderWorkerSet", byScheduler, []string{"spec.leaderWorkerTemplate.leaderTemplate", "spec.leaderWorkerTemplate.workerTemplate"}, false},
	{"ray.io", "rayclusters", "", "RayCluster", byScheduler, []string{"spec.headGroupSpec.template", "spec.workerGroupSpecs.*.template"}, false},
	{"serving.knative.dev", "services", "", "Service", byScheduler, []string{podTemplate}, false},
}

// workloadKindOf is the kind that a request is about. Of a kind nobody told
// Berth about it knows no more than that its template may be at spec.template.
func workloadKindOf(group, resource string) workloadKind {
	if i := slices.IndexFunc(workloadKinds, func(k workloadKind) bool { return k.group == group && k.resource == resource }); i >= 0 {
		return workloadKinds[i]
	}
	return workloadKind{group: group, resource: resource, placing: unknownPlaces, templates: []string{podTemplate}}
}

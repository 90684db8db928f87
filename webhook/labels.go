package webhook

import (
	"slices"

	"berth.dev/berth/webhook/admission"
)

// other stands for every label value outside a closed set, so that no client
// can make series.
const other = "other"

// kinds maps group and resource to the label value. A resource of another
// group that has the same name is other.
var kinds = map[[2]string]string{
	{"", "pods"}:                   "pods",
	{"", "persistentvolumeclaims"}: "persistentvolumeclaims",
	{"", "replicationcontrollers"}: "replicationcontrollers",
	{"apps", "daemonsets"}:         "daemonsets",
	{"apps", "deployments"}:        "deployments",
	{"apps", "statefulsets"}:       "statefulsets",
	{"apps", "replicasets"}:        "replicasets",
	{"batch", "jobs"}:              "jobs",
	{"batch", "cronjobs"}:          "cronjobs",
}

// resourceLabels are the values of the label resource of admission metrics.
func resourceLabels() []string {
	return []string{
		"pods", "persistentvolumeclaims", "daemonsets", "deployments", "statefulsets",
		"replicasets", "replicationcontrollers", "jobs", "cronjobs", other,
	}
}

// operationLabels are the values of the label operation.
func operationLabels() []string { return []string{"CREATE", "UPDATE", "DELETE", "CONNECT", other} }

// resultLabels are the values of the label result (admission.Decision.Result).
func resultLabels() []string { return []string{"allowed", "rewritten", "refused", resultError} }

// resultError is the result of a request that got no decision.
const resultError = "error"

// readResources and readResults are the labels of live reads and informers.
func readResources() []string {
	return []string{"nodes", "persistentvolumeclaims", "persistentvolumes", "storageclasses"}
}

func readResults() []string { return []string{"ok", "notfound", resultError} }

// pvcStates are the states of node PVCs that are counted.
func pvcStates() []string { return []string{"ready", "pending", "unfilled", "deleting", "lost"} }

// resourceLabel is the label value for a request's resource.
func resourceLabel(req *admission.Request) string {
	if label, ok := kinds[[2]string{req.Group, req.Resource}]; ok {
		return label
	}
	return other
}

// oneOf is the value if it is in the set, else the fallback.
func oneOf(set []string, value, fallback string) string {
	if slices.Contains(set, value) {
		return value
	}
	return fallback
}

package claim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
)

// DaemonSetNodes are the names of the Nodes that the DaemonSet controller would
// run a pod of this template on, sorted: nodeName, selector and affinity must
// match, and taints be tolerated, with the tolerations that the controller adds
// (NodeShouldRunDaemonPod and AddOrUpdateDaemonPodTolerations in
// pkg/controller/daemon of Kubernetes).
func DaemonSetNodes(r *Reads, p Placement, tolerations []corev1.Toleration, hostNetwork bool) []string {
	tolerations = slices.Concat(tolerations, controllerTolerations(hostNetwork))
	var names []string
	work, size := 0, p.size()
	if size > fitnessMax {
		return nil
	}
	fits := newFitness(p)
	for n := range r.AllNodes() {
		if work += size; work > daemonSetMax {
			break
		}
		if fits.of(n) && toleratesAll(tolerations, n.Taints) {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	return names
}

// daemonSetMax bounds the work for a warning: requirements times nodes.
const daemonSetMax = 2_000_000

func controllerTolerations(hostNetwork bool) []corev1.Toleration {
	out := []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	}
	keys := []string{corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable}
	if hostNetwork {
		keys = append(keys, corev1.TaintNodeNetworkUnavailable)
	}
	for _, key := range keys {
		out = append(out, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	return out
}

// toleratesAll tells whether a pod may be on a node with these taints;
// PreferNoSchedule is no obstacle.
func toleratesAll(tolerations []corev1.Toleration, taints []corev1.Taint) bool {
	for i := range taints {
		if taints[i].Effect != corev1.TaintEffectPreferNoSchedule && !quietly(schedulinghelpers.TolerationsTolerateTaint, tolerations, &taints[i]) {
			return false
		}
	}
	return true
}

// quietly calls a function of the scheduler's with the zero value of its
// logger, which logs nothing: the core knows no logger.
func quietly[Logger any](f func(Logger, []corev1.Toleration, *corev1.Taint, bool) bool, tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	var none Logger
	return f(none, tolerations, taint, true)
}

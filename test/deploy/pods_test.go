package deploy_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// checkLabels: everything that selects Berth's pods selects them.
func checkLabels(r *rendered) []string {
	var found problems
	d := one[appsv1.Deployment](r)
	selectors := map[string]*metav1.LabelSelector{
		"the Deployment": d.Spec.Selector,
		"the Service":    {MatchLabels: one[corev1.Service](r).Spec.Selector},
	}
	for _, budget := range all[*policyv1.PodDisruptionBudget](r) {
		selectors["the PodDisruptionBudget"] = budget.Spec.Selector
	}
	for _, p := range all[*networkingv1.NetworkPolicy](r) {
		selectors["the NetworkPolicy"] = &p.Spec.PodSelector
	}
	for _, spread := range d.Spec.Template.Spec.TopologySpreadConstraints {
		selectors["the spread constraint"] = spread.LabelSelector
	}
	for what, s := range selectors {
		selector, err := metav1.LabelSelectorAsSelector(s)
		found.unless(err == nil && !selector.Empty() && selector.Matches(labels.Set(podLabels(r))), "%s does not select Berth's pods", what)
		// An upgrade changes the version's label, and no selector may follow.
		found.unless(s == nil || !slices.Contains(slices.Collect(maps.Keys(s.MatchLabels)), "app.kubernetes.io/version"), "%s selects one version", what)
	}
	return found
}

// checkPodSecurity: Kubernetes' own evaluator passes the pod at the strictest
// level, and where the namespace is made it asks for that level.
func checkPodSecurity(r *rendered) []string {
	var found problems
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	latest := api.LatestVersion()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), &latest)
	if err != nil {
		return []string{err.Error()}
	}
	template := one[appsv1.Deployment](r).Spec.Template
	result := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec))
	found.unless(result.Allowed, "restricted: %s", result.ForbiddenDetail())
	for _, ns := range all[*corev1.Namespace](r) {
		found.unless(ns.Labels[api.EnforceLevelLabel] == string(api.LevelRestricted), "the namespace enforces %q", ns.Labels[api.EnforceLevelLabel])
	}
	security := container(r).SecurityContext
	found.unless(security != nil && value(security.ReadOnlyRootFilesystem), "the root file system can be written")
	pod := template.Spec.SecurityContext
	found.unless(pod != nil && value(pod.RunAsUser) == 65532, "not the image's user")
	return found
}

// drain is how long requests under way are waited for, as the server has it.
func drain() (time.Duration, error) {
	text, err := os.ReadFile(root + "/webhook/server.go")
	if err != nil {
		return 0, err
	}
	match := regexp.MustCompile(`const drainTimeout = (\d+) \* time\.Second\n`).FindSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("webhook/server.go has no drainTimeout")
	}
	seconds, err := strconv.Atoi(string(match[1]))
	return time.Duration(seconds) * time.Second, err
}

// checkShutdown: the kubelet waits for the shutdown delay and the drain.
func checkShutdown(r *rendered) []string {
	var found problems
	wait, err := drain()
	if err != nil {
		return []string{err.Error()}
	}
	delay, err := time.ParseDuration(flags(r)["shutdown-delay-duration"])
	found.unless(err == nil, "no delay: %v", err)
	grace := time.Duration(value(one[appsv1.Deployment](r).Spec.Template.Spec.TerminationGracePeriodSeconds)) * time.Second
	found.unless(grace > delay+wait, "a grace period of %s is too short for %s and %s", grace, delay, wait)
	return found
}

// checkAvailability: a node, a drain or a roll-out never takes the last replica.
func checkAvailability(r *rendered) []string {
	var found problems
	d := one[appsv1.Deployment](r)
	rolling := d.Spec.Strategy.RollingUpdate
	found.unless(rolling != nil && rolling.MaxUnavailable != nil && rolling.MaxUnavailable.String() == "0", "a roll-out takes replicas away")
	spread := d.Spec.Template.Spec.TopologySpreadConstraints
	found.unless(len(spread) == 1 && spread[0].TopologyKey == corev1.LabelHostname, "replicas are not spread over nodes")
	budgets := all[*policyv1.PodDisruptionBudget](r)
	if value(d.Spec.Replicas) < 2 {
		found.unless(len(budgets) == 0, "the budget blocks every drain")
		return found
	}
	found.unless(len(budgets) == 1 && budgets[0].Spec.MinAvailable != nil && budgets[0].Spec.MinAvailable.String() == "1", "no budget keeps one replica")
	return found
}

// checkNamespaces: every object says its namespace, which is the release's.
func checkNamespaces(r *rendered) []string {
	var found problems
	for _, o := range r.objects {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		switch kind {
		case "Namespace":
			found.unless(o.GetName() == r.namespace, "namespace %s is made", o.GetName())
		case "ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			found.unless(o.GetNamespace() == "", "%s %s has a namespace", kind, o.GetName())
		default:
			found.unless(o.GetNamespace() == r.namespace, "%s %s is in %q", kind, o.GetName(), o.GetNamespace())
		}
	}
	found.unless(len(all[*admissionregistrationv1.MutatingWebhookConfiguration](r)) == 1, "there is one mutating configuration")
	return found
}

// checkResources: the collector knows the memory limit, and a critical pod has a
// quota that leaves room for a roll-out.
func checkResources(r *rendered) []string {
	var found problems
	c, d := container(r), one[appsv1.Deployment](r)
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	found.unless(i >= 0 && c.Env[i].ValueFrom != nil && c.Env[i].ValueFrom.ResourceFieldRef != nil && c.Env[i].ValueFrom.ResourceFieldRef.Resource == "limits.memory", "GOMEMLIMIT is not the limit")
	_, limited := c.Resources.Limits[corev1.ResourceMemory]
	found.unless(limited, "no memory limit")
	found.unless(!c.Resources.Requests.Cpu().IsZero() && !c.Resources.Requests.Memory().IsZero(), "nothing is requested")
	critical := d.Spec.Template.Spec.PriorityClassName == "system-cluster-critical"
	quotas := all[*corev1.ResourceQuota](r)
	found.unless(critical == (len(quotas) == 1), "critical: %t, quotas: %d", critical, len(quotas))
	for _, q := range quotas {
		pods := q.Spec.Hard[corev1.ResourcePods]
		found.unless(pods.Value() > int64(value(d.Spec.Replicas))+1, "the quota allows %s pods", pods.String())
	}
	return found
}

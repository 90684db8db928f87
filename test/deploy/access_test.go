package deploy_test

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"berth.dev/berth/webhook/lookup"
)

// groupOf is the API group of a resource that Berth reads.
func groupOf(resource string) string {
	if resource == "storageclasses" {
		return "storage.k8s.io"
	}
	return ""
}

// checkRBAC: informers list and watch, live reads get; nothing else is allowed.
func checkRBAC(r *rendered) []string {
	var found problems
	type grant struct{ group, resource, verb string }
	granted, read := map[grant]bool{}, map[grant]bool{}
	for _, rule := range one[rbacv1.ClusterRole](r).Rules {
		found.unless(len(rule.ResourceNames) == 0 && len(rule.NonResourceURLs) == 0, "a rule is for names or URLs")
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted[grant{group, resource, verb}] = true
				}
			}
		}
	}
	for _, resource := range lookup.Resources() {
		for _, verb := range []string{"get", "list", "watch"} {
			read[grant{groupOf(resource), resource, verb}] = true
		}
	}
	for g := range read {
		found.unless(granted[g], "%v is needed", g)
	}
	for g := range granted {
		found.unless(read[g], "%v is not needed", g)
	}
	found.unless(len(all[*rbacv1.Role](r)) == 0 && len(all[*rbacv1.RoleBinding](r)) == 0, "there is another role")
	return found
}

// checkAccount: the role is bound to the account that the pods run as, which
// gives its token to nobody else.
func checkAccount(r *rendered) []string {
	var found problems
	account, role := one[corev1.ServiceAccount](r), one[rbacv1.ClusterRole](r)
	binding := one[rbacv1.ClusterRoleBinding](r)
	spec := one[appsv1.Deployment](r).Spec.Template.Spec
	want := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account.Name, Namespace: account.Namespace}}
	found.unless(slices.Equal(binding.Subjects, want), "the role is bound to %v", binding.Subjects)
	found.unless(binding.RoleRef == rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, "the binding is for %v", binding.RoleRef)
	found.unless(spec.ServiceAccountName == account.Name && account.Name != "", "pods run as %q", spec.ServiceAccountName)
	found.unless(account.AutomountServiceAccountToken != nil && !*account.AutomountServiceAccountToken, "the account's token is mounted everywhere")
	found.unless(spec.AutomountServiceAccountToken != nil && *spec.AutomountServiceAccountToken, "Berth has no token")
	return found
}

// checkNetworkPolicy: where there is a policy, it is for Berth's pods, and opens
// every port of the container.
func checkNetworkPolicy(r *rendered) []string {
	var found problems
	for _, policy := range all[*networkingv1.NetworkPolicy](r) {
		open := map[int32]bool{}
		for _, rule := range policy.Spec.Ingress {
			found.unless(len(rule.From) == 0, "API servers and kubelets can't be selected")
			for _, port := range rule.Ports {
				if port.Port != nil {
					open[containerPort(r, *port.Port)] = true
				}
			}
		}
		for _, port := range container(r).Ports {
			found.unless(open[port.ContainerPort], "port %s is shut", port.Name)
		}
		found.unless(len(policy.Spec.Egress) == 1 && len(policy.Spec.Egress[0].Ports) > 0, "the API server can't be reached")
	}
	return found
}

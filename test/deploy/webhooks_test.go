package deploy_test

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook"

	"berth.dev/berth/webhook/admission"
)

// hook is a webhook of either configuration, as the API server sees it.
type hook struct {
	apiwebhook.WebhookAccessor

	road admission.Road
}

// id names a webhook in messages.
func (h hook) id() string { return string(h.road) + " " + h.GetName() }

// hooks are the webhooks of both configurations.
func hooks(r *rendered) []hook {
	var out []hook
	mutating := one[admissionregistrationv1.MutatingWebhookConfiguration](r)
	for i := range mutating.Webhooks {
		out = append(out, hook{apiwebhook.NewMutatingWebhookAccessor("", mutating.Name, &mutating.Webhooks[i]), admission.Mutate})
	}
	validating := one[admissionregistrationv1.ValidatingWebhookConfiguration](r)
	for i := range validating.Webhooks {
		out = append(out, hook{apiwebhook.NewValidatingWebhookAccessor("", validating.Name, &validating.Webhooks[i]), admission.Validate})
	}
	return out
}

// isForeign tells whether a webhook is for kinds of other projects.
func (h hook) isForeign() bool { return h.GetName() == "others.berth.dev" }

// registered is a rule for one resource on one road.
type registered struct {
	road                     admission.Road
	group, version, resource string
	operations               string // sorted
}

// expected are the kinds that the code handles, on the roads that design 3 gives
// them: pods are seen twice, node PVCs patched, workloads judged.
func expected() []registered {
	var out []registered
	for _, k := range admission.Kinds() {
		roads := []admission.Road{admission.Validate}
		switch {
		case k.Group == "" && k.Resource == "pods":
			roads = []admission.Road{admission.Mutate, admission.Validate}
		case k.Group == "" && k.Resource == "persistentvolumeclaims":
			roads = []admission.Road{admission.Mutate}
		}
		for _, road := range roads {
			out = append(out, registered{road, k.Group, k.Version, k.Resource, join(k.Operations)})
		}
	}
	return out
}

func join[S ~string](items []S) string {
	var out []string
	for _, item := range items {
		out = append(out, string(item))
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

// rulesOf are the single rules of a webhook.
func rulesOf(h hook) []registered {
	var out []registered
	for _, rule := range h.GetRules() {
		for _, group := range rule.APIGroups {
			for _, version := range rule.APIVersions {
				for _, resource := range rule.Resources {
					out = append(out, registered{h.road, group, version, resource, join(rule.Operations)})
				}
			}
		}
	}
	return out
}

// checkRules: what is registered is what is handled, each once, and never a
// cluster-scoped resource or a subresource.
func checkRules(r *rendered) []string {
	var found problems
	want := expected()
	seen := map[registered]bool{}
	for _, h := range hooks(r) {
		for _, rule := range h.GetRules() {
			found.unless(rule.Scope != nil && *rule.Scope == admissionregistrationv1.NamespacedScope, "%s: scope is not Namespaced", h.id())
		}
		for _, rule := range rulesOf(h) {
			found.unless(!seen[rule], "%s: %v is registered twice", h.id(), rule)
			seen[rule] = true
			found.unless(h.isForeign() || slices.Contains(want, rule), "%s: %v is not handled", h.id(), rule)
			found.unless(!strings.Contains(rule.resource, "/"), "%s: %v is a subresource", h.id(), rule)
		}
	}
	for _, w := range want {
		found.unless(seen[w], "%v is handled, but not registered", w)
	}
	return found
}

// checkBehaviour: design section 4, "The shipped configuration".
func checkBehaviour(r *rendered) []string {
	var found problems
	policies := map[admissionregistrationv1.FailurePolicyType]bool{}
	for _, h := range hooks(r) {
		found.unless(value(h.GetSideEffects()) == admissionregistrationv1.SideEffectClassNone, "%s: side effects", h.id())
		found.unless(value(h.GetMatchPolicy()) == admissionregistrationv1.Equivalent, "%s: match policy", h.id())
		found.unless(value(h.GetTimeoutSeconds()) == 5, "%s: time-out", h.id())
		found.unless(slices.Equal(h.GetAdmissionReviewVersions(), []string{"v1"}), "%s: review versions", h.id())
		if mutating, ok := h.GetMutatingWebhook(); ok {
			found.unless(value(mutating.ReinvocationPolicy) == admissionregistrationv1.IfNeededReinvocationPolicy, "%s: reinvocation policy", h.id())
		}
		if h.GetName() == "pods.berth.dev" {
			policies[value(h.GetFailurePolicy())] = true
			continue
		}
		found.unless(value(h.GetFailurePolicy()) == admissionregistrationv1.Ignore, "%s: only pods may fail closed", h.id())
	}
	found.unless(len(policies) == 1, "both pod webhooks must have one failure policy, not %v", policies)
	return found
}

// value is what a pointer points to, or the zero value.
func value[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// checkNames: the mutating configuration must run after those that add volumes
// (configurations run by name), and webhook names are qualified and unique.
func checkNames(r *rendered) []string {
	var found problems
	name := one[admissionregistrationv1.MutatingWebhookConfiguration](r).Name
	found.unless(strings.HasPrefix(name, "zz-"), "%q must sort last", name)
	seen := map[string]bool{}
	for _, h := range hooks(r) {
		found.unless(strings.Count(h.GetName(), ".") >= 2, "%s is not fully qualified", h.id())
		found.unless(!seen[h.id()], "%s stands twice", h.id())
		seen[h.id()] = true
	}
	return found
}

package deploy_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// mutation breaks one value.
type mutation struct {
	breaks func(*rendered)
	want   string // the check that must complain
}

// TestOneBrokenValueIsFound: what is rendered is broken in one place at a time,
// and exactly the check that is for it complains.
func TestOneBrokenValueIsFound(t *testing.T) {
	whole := render(t, variants(t)["defaults"])
	covered := map[string]bool{}
	for _, table := range []map[string]mutation{webhookMutations(), podMutations(), otherMutations()} {
		for what, m := range table {
			t.Run(what, func(t *testing.T) {
				broken := whole.clone()
				m.breaks(broken)
				assert.Equal(t, []string{m.want}, complaints(broken))
				covered[m.want] = true
			})
		}
	}
	assert.Empty(t, complaints(whole), "a mutation reached what it was copied from")
	covered["a network policy lets in what is served"] = true // TestShutNetworkPolicyIsFound: off by default
	for name := range checks() {
		assert.True(t, covered[name], "nothing shows that the check %q can complain", name)
	}
}

// TestShutNetworkPolicyIsFound: as above, with the policy on.
func TestShutNetworkPolicyIsFound(t *testing.T) {
	r := render(t, variants(t)["everything"])
	require.Empty(t, complaints(r))
	rule := &one[networkingv1.NetworkPolicy](r).Spec.Ingress[0]
	rule.Ports = rule.Ports[1:]
	assert.Equal(t, []string{"a network policy lets in what is served"}, complaints(r))
}

// complaints are the checks that complain, sorted.
func complaints(r *rendered) []string {
	var out []string
	for name, run := range checks() {
		if len(run(r)) > 0 {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func mutating(r *rendered, name string) *admissionregistrationv1.MutatingWebhook {
	hooks := one[admissionregistrationv1.MutatingWebhookConfiguration](r).Webhooks
	return &hooks[slices.IndexFunc(hooks, func(h admissionregistrationv1.MutatingWebhook) bool { return h.Name == name })]
}

func validating(r *rendered, name string) *admissionregistrationv1.ValidatingWebhook {
	hooks := one[admissionregistrationv1.ValidatingWebhookConfiguration](r).Webhooks
	return &hooks[slices.IndexFunc(hooks, func(h admissionregistrationv1.ValidatingWebhook) bool { return h.Name == name })]
}

func webhookMutations() map[string]mutation {
	const pods, pvcs, workloads = "pods.berth.dev", "persistentvolumeclaims.berth.dev", "workloads.berth.dev"
	const kinds, paths, conditions, selectors, behaviour = "rules are the kinds handled", "paths are routes", "match conditions",
		"selectors reach the right namespaces", "webhooks behave as they must"
	return map[string]mutation{
		"a path that nothing serves":     {func(r *rendered) { *mutating(r, pods).ClientConfig.Service.Path = "/mutate-pods" }, paths},
		"a path with a slash at its end": {func(r *rendered) { *validating(r, pods).ClientConfig.Service.Path = "/validate/" }, paths},
		"the path of the other road":     {func(r *rendered) { *validating(r, workloads).ClientConfig.Service.Path = "/mutate" }, paths},
		"another Service":                {func(r *rendered) { mutating(r, pods).ClientConfig.Service.Name = "berth-webhook" }, paths},
		"a port that the Service lacks":  {func(r *rendered) { *mutating(r, pods).ClientConfig.Service.Port = 8443 }, paths},
		"a verb too many": {func(r *rendered) {
			rule := &mutating(r, pods).Rules[0]
			rule.Operations = append(rule.Operations, admissionregistrationv1.Update)
		}, kinds},
		"a verb too few": {func(r *rendered) {
			validating(r, workloads).Rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
		}, kinds},
		"a resource that is missing": {func(r *rendered) { validating(r, workloads).Rules[1].Resources = nil }, kinds},
		"a resource in the singular": {func(r *rendered) { mutating(r, pvcs).Rules[0].Resources[0] = "persistentvolumeclaim" }, kinds},
		"a group that is missing":    {func(r *rendered) { validating(r, "cronjobs.berth.dev").Rules[0].APIGroups[0] = "" }, kinds},
		"any scope":                  {func(r *rendered) { *mutating(r, pods).Rules[0].Scope = admissionregistrationv1.AllScopes }, kinds},
		"a condition without its guard": {func(r *rendered) {
			mutating(r, pods).MatchConditions[0].Expression = "object.spec.volumes.exists(v, has(v.persistentVolumeClaim))"
		}, conditions},
		"a condition under Ignore without its guard": {func(r *rendered) {
			c := validating(r, "replicationcontrollers.berth.dev").MatchConditions
			c[1].Expression = strings.ReplaceAll(c[1].Expression, "!has(oldObject.spec.template) ||", "")
		}, conditions},
		"a condition that compares the whole object": {func(r *rendered) {
			validating(r, workloads).MatchConditions[1].Expression = `request.operation == "CREATE" || object != oldObject`
		}, conditions},
		"a condition that doesn't compile": {func(r *rendered) { mutating(r, pods).MatchConditions[0].Expression = "has(object.spec.volumes" }, conditions},
		"a condition for mirror pods left out": {func(r *rendered) {
			validating(r, pods).MatchConditions = validating(r, pods).MatchConditions[:1]
		}, conditions},
		"a condition with another label key": {func(r *rendered) {
			c := &mutating(r, pvcs).MatchConditions[0]
			c.Expression = strings.ReplaceAll(c.Expression, "berth.dev/node", "example.com/node")
		}, conditions},
		"a label key that only the arguments have": {func(r *rendered) {
			container(r).Args = append(container(r).Args, "--claim-label=example.com/claim")
		}, conditions},
		"no namespace selector": {func(r *rendered) { mutating(r, pods).NamespaceSelector = &metav1.LabelSelector{} }, selectors},
		"kube-system let in":    {func(r *rendered) { mutating(r, pvcs).NamespaceSelector.MatchExpressions[1].Values[0] = "kube-public" }, selectors},
		"Berth's own namespace let in": {func(r *rendered) {
			validating(r, pods).NamespaceSelector.MatchExpressions[1].Values[1] = "berth"
		}, selectors},
		"no way to exempt an object": {func(r *rendered) { validating(r, workloads).ObjectSelector = nil }, selectors},
		"workloads that fail closed": {func(r *rendered) { *validating(r, workloads).FailurePolicy = admissionregistrationv1.Fail }, behaviour},
		"pods that fail open in one": {func(r *rendered) { *validating(r, pods).FailurePolicy = admissionregistrationv1.Ignore }, behaviour},
		"pods called once": {func(r *rendered) {
			*mutating(r, pods).ReinvocationPolicy = admissionregistrationv1.NeverReinvocationPolicy
		}, behaviour},
		"a long time-out": {func(r *rendered) { *mutating(r, pods).TimeoutSeconds = 30 }, behaviour},
		"a name that sorts first": {func(r *rendered) {
			one[admissionregistrationv1.MutatingWebhookConfiguration](r).Name = "berth"
		}, "names of webhooks and configurations"},
		"a name that isn't qualified": {func(r *rendered) { mutating(r, pvcs).Name = "pvcs" }, "names of webhooks and configurations"},
	}
}

func podMutations() map[string]mutation {
	const arguments, ports, labels, security = "arguments parse", "ports and probes", "labels and selectors", "pod security"
	const certificates, availability, resources = "certificates and Secrets fit together", "replicas survive a node and a roll-out", "resources, the memory limit and quotas"
	spec := func(r *rendered) *corev1.PodSpec { return &one[appsv1.Deployment](r).Spec.Template.Spec }
	arg := func(old, replacement string) func(*rendered) {
		return func(r *rendered) {
			for i, a := range container(r).Args {
				container(r).Args[i] = strings.Replace(a, old, replacement, 1)
			}
		}
	}
	return map[string]mutation{
		"a flag that doesn't exist":        {arg("--log-format", "--logging-format"), arguments},
		"a flag with a bad value":          {arg("--missing-node-pvc=auto", "--missing-node-pvc=wait"), arguments},
		"another subcommand":               {arg("serve", "run"), arguments},
		"an address that nobody calls":     {arg("--bind-address=:9443", "--bind-address=:8443"), ports},
		"metrics that nobody asks for":     {arg("--metrics-bind-address=:8080", "--metrics-bind-address=:8081"), ports},
		"a certificate read elsewhere":     {arg("/etc/berth/tls/tls.crt", "/etc/berth/tls.crt"), certificates},
		"a delay longer than the grace":    {arg("--shutdown-delay-duration=5s", "--shutdown-delay-duration=20s"), "shutdown fits into the grace period"},
		"a grace period that is too short": {func(r *rendered) { *spec(r).TerminationGracePeriodSeconds = 15 }, "shutdown fits into the grace period"},
		"liveness by readiness":            {func(r *rendered) { container(r).LivenessProbe.HTTPGet.Path = "/readyz" }, ports},
		"a probe at the webhook's port":    {func(r *rendered) { container(r).ReadinessProbe.HTTPGet.Port = intstr.FromString("https") }, ports},
		"no time to start":                 {func(r *rendered) { container(r).StartupProbe = nil }, ports},
		"another Secret":                   {func(r *rendered) { spec(r).Volumes[0].Secret.SecretName = "berth-tls" }, certificates},
		"a mount that is never refreshed":  {func(r *rendered) { container(r).VolumeMounts[0].SubPath = "tls.crt" }, certificates},
		"a pod without a selected label":   {func(r *rendered) { delete(podLabels(r), "app.kubernetes.io/instance") }, labels},
		"privileges":                       {func(r *rendered) { *container(r).SecurityContext.AllowPrivilegeEscalation = true }, security},
		"a root that can be written":       {func(r *rendered) { container(r).SecurityContext.ReadOnlyRootFilesystem = nil }, security},
		"the host's network":               {func(r *rendered) { spec(r).HostNetwork = true }, security},
		"another account":                  {func(r *rendered) { spec(r).ServiceAccountName = "default" }, "the account is Berth's and has a token"},
		"no token":                         {func(r *rendered) { *spec(r).AutomountServiceAccountToken = false }, "the account is Berth's and has a token"},
		"a roll-out with a gap": {func(r *rendered) {
			one := intstr.FromInt32(1)
			deployment(r).Spec.Strategy.RollingUpdate.MaxUnavailable = &one
		}, availability},
		"replicas side by side": {func(r *rendered) { spec(r).TopologySpreadConstraints = nil }, availability},
		"a budget for all replicas": {func(r *rendered) {
			two := intstr.FromInt32(2)
			one[policyv1.PodDisruptionBudget](r).Spec.MinAvailable = &two
		}, availability},
		"no memory limit for the collector": {func(r *rendered) { container(r).Env = nil }, resources},
		"a quota without room":              {func(r *rendered) { deployment(r).Spec.Replicas = ptr(int32(5)) }, resources},
	}
}

func deployment(r *rendered) *appsv1.Deployment { return one[appsv1.Deployment](r) }

func ptr[T any](v T) *T { return &v }

func otherMutations() map[string]mutation {
	const rbac, dns, certificates, lifetimes = "roles allow what is read, and no more", "DNS names are the Service's",
		"certificates and Secrets fit together", "the CA outlives the certificates"
	role := func(r *rendered) *rbacv1.PolicyRule { return &one[rbacv1.ClusterRole](r).Rules[0] }
	named := func(r *rendered, secret string) *cmv1.CertificateSpec { return &certificateOf(r, secret).Spec }
	return map[string]mutation{
		"an RBAC verb too few":            {func(r *rendered) { role(r).Verbs = []string{"get", "list"} }, rbac},
		"an RBAC verb too many":           {func(r *rendered) { role(r).Verbs = append(role(r).Verbs, "patch") }, rbac},
		"an RBAC resource too many":       {func(r *rendered) { role(r).Resources = append(role(r).Resources, "secrets") }, rbac},
		"an RBAC group":                   {func(r *rendered) { one[rbacv1.ClusterRole](r).Rules[1].APIGroups[0] = "" }, rbac},
		"a DNS name of another namespace": {func(r *rendered) { named(r, "berth-serving").DNSNames[0] = "berth.default.svc" }, dns},
		"a DNS name cut short":            {func(r *rendered) { named(r, "berth-serving").DNSNames[1] = "berth.berth-system.svc.local" }, dns},
		"a CA from another certificate": {func(r *rendered) {
			one[admissionregistrationv1.ValidatingWebhookConfiguration](r).Annotations[cmv1.WantInjectAnnotation] = "berth-system/berth-ca"
		}, certificates},
		"an issuer that isn't there":         {func(r *rendered) { named(r, "berth-serving").IssuerRef.Name = "berth" }, certificates},
		"a certificate signed by itself":     {func(r *rendered) { named(r, "berth-serving").IssuerRef.Name = "berth-selfsigned" }, certificates},
		"a certificate that outlives its CA": {func(r *rendered) { named(r, "berth-ca").RenewBefore.Duration = 720 * time.Hour }, lifetimes},
		"a CA that changes its key":          {func(r *rendered) { named(r, "berth-ca").PrivateKey.RotationPolicy = cmv1.RotationPolicyAlways }, lifetimes},
		"a Service that selects nothing":     {func(r *rendered) { one[corev1.Service](r).Spec.Selector["app.kubernetes.io/name"] = "webhook" }, "labels and selectors"},
		"a Service port to nowhere":          {func(r *rendered) { one[corev1.Service](r).Spec.Ports[0].TargetPort = intstr.FromString("web") }, "ports and probes"},
		"a budget for other pods": {func(r *rendered) {
			one[policyv1.PodDisruptionBudget](r).Spec.Selector.MatchLabels["app.kubernetes.io/name"] = "x"
		}, "labels and selectors"},
		"a namespace without pod security": {func(r *rendered) { one[corev1.Namespace](r).Labels = nil }, "pod security"},
		"an object in another namespace":   {func(r *rendered) { one[policyv1.PodDisruptionBudget](r).Namespace = "default" }, "everything stands in its namespace"},
		"a binding for another account":    {func(r *rendered) { one[rbacv1.ClusterRoleBinding](r).Subjects[0].Namespace = "default" }, "the account is Berth's and has a token"},
	}
}

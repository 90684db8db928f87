package deploy_test

import (
	"context"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	apiwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/cel/environment"
)

// checkConditions: the API server's own evaluator calls the webhooks for the
// probes that it must, and never meets an error.
func checkConditions(r *rendered) []string {
	var found problems
	compiler := cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	requests := probes(keys(r))
	for _, h := range hooks(r) {
		found.unless(len(h.GetMatchConditions()) > 0, "%s is called for everything", h.id())
		matcher := strict(h).GetCompiledMatcher(compiler)
		for what, p := range requests {
			attributes := p.attributes()
			if !registers(h, attributes) {
				continue
			}
			// The API server shows objects to conditions in one of two ways (a feature gate).
			for _, schemaless := range []bool{false, true} {
				result := matcher.Match(context.Background(), p.versioned(attributes, schemaless), nil, nil)
				found.unless(result.Error == nil, "%s: %s: %v", h.id(), what, result.Error)
				found.unless(result.Error != nil || result.Matches == p.called, "%s: %s: called: %t", h.id(), what, result.Matches)
			}
		}
	}
	return found
}

// strict is a webhook that fails where a condition can't be evaluated: under
// Ignore the API server would skip it without a word.
func strict(h hook) apiwebhook.WebhookAccessor {
	fail := admissionregistrationv1.Fail
	if mutating, ok := h.GetMutatingWebhook(); ok {
		c := mutating.DeepCopy()
		c.FailurePolicy = &fail
		return apiwebhook.NewMutatingWebhookAccessor("", "", c)
	}
	validating, _ := h.GetValidatingWebhook()
	c := validating.DeepCopy()
	c.FailurePolicy = &fail
	return apiwebhook.NewValidatingWebhookAccessor("", "", c)
}

// registers tells whether a rule of the webhook is for a request.
func registers(h hook, a admission.Attributes) bool {
	for _, rule := range h.GetRules() {
		if (&rules.Matcher{Rule: rule, Attr: a}).Matches() {
			return true
		}
	}
	return false
}

// attributes are the probe as a request.
func (p probe) attributes() admission.Attributes {
	return admission.NewAttributesRecord(p.object, p.old, p.kind, "inference", "probe", p.resource, "", p.operation, nil, false, &user.DefaultInfo{Name: "someone"})
}

// versioned is a request as conditions see it.
func (p probe) versioned(a admission.Attributes, schemaless bool) *admission.VersionedAttributes {
	v := &admission.VersionedAttributes{Attributes: a, VersionedKind: a.GetKind()}
	v.VersionedObject.UseSchemalessTypeRef, v.VersionedOldObject.UseSchemalessTypeRef = schemaless, schemaless //nolint:staticcheck // both ways are there until the old one goes
	v.VersionedObject.Set(p.object)
	if p.old != nil {
		v.VersionedOldObject.Set(p.old)
	}
	return v
}

// TestConditionsCompileOnTheOldestVersion: the conditions need nothing that the
// oldest Kubernetes of Chart.yaml's kubeVersion lacks.
func TestConditionsCompileOnTheOldestVersion(t *testing.T) {
	text, err := os.ReadFile(chart + "/Chart.yaml")
	require.NoError(t, err)
	match := regexp.MustCompile(`kubeVersion: ">=(\d+\.\d+)\.0-0"`).FindSubmatch(text)
	require.NotNil(t, match)
	compiler := cel.NewCompiler(environment.MustBaseEnvSet(version.MustParseGeneric(string(match[1]))))
	for name, v := range variants(t) {
		for _, h := range hooks(render(t, v)) {
			for _, c := range h.GetMatchConditions() {
				condition := matchconditions.MatchCondition(c)
				result := compiler.CompileCELExpression(&condition, cel.OptionalVariableDeclarations{HasAuthorizer: true}, environment.NewExpressions)
				assert.Nil(t, result.Error, "%s: %s: %s", name, h.id(), c.Name)
			}
		}
	}
}

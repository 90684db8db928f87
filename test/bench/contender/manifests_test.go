package contender

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

func TestEveryContenderSaysWhatItCannotDo(t *testing.T) {
	for _, name := range []string{"berth", "common-way", "cel", "kyverno", "bare-webhook"} {
		limits := Limits(name)
		assert.NotEmpty(t, limits, name)
		for _, limit := range limits {
			assert.Regexp(t, `^[A-Z].+\.$`, limit, name)
			assert.NotContains(t, limit, "|", "it must fit into a Markdown table")
		}
	}
	assert.Empty(t, Limits("none"))
}

func TestPoliciesAreForOneNamespace(t *testing.T) {
	for name, count := range map[string]int{"cel": 2, "kyverno": 1} {
		documents, err := Manifests(name, "team-x")
		require.NoError(t, err)
		require.Len(t, documents, count)
		assert.Contains(t, documents[0], "team-x")
		assert.NotContains(t, documents[0], "NAMESPACE")
	}
	_, err := Manifests("none", "team-x")
	assert.Error(t, err)
}

func TestThePolicyOfCELIsDecodedStrictly(t *testing.T) {
	documents, err := Manifests("cel", "team-x")
	require.NoError(t, err)
	var policy admissionregistrationv1.MutatingAdmissionPolicy
	var binding admissionregistrationv1.MutatingAdmissionPolicyBinding
	require.NoError(t, yaml.UnmarshalStrict([]byte(documents[0]), &policy))
	require.NoError(t, yaml.UnmarshalStrict([]byte(documents[1]), &binding))
	assert.Equal(t, policy.Name, binding.Spec.PolicyName)
}

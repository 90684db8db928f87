package deploy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const admissionLabel = "berth.dev/admission"

// inNamespace are the labels of a namespace: the API server sets its name itself.
func inNamespace(name, admission string) labels.Set {
	set := labels.Set{corev1.LabelMetadataName: name}
	if admission != "" {
		set[admissionLabel] = admission
	}
	return set
}

// checkSelectors: only opted-in namespaces, never kube-system nor Berth's own,
// even opted in; never an object that is exempted.
func checkSelectors(r *rendered) []string {
	var found problems
	for _, h := range hooks(r) {
		namespaces, err := h.GetParsedNamespaceSelector()
		objects, objectErr := h.GetParsedObjectSelector()
		if err != nil || objectErr != nil {
			found.unless(false, "%s: a selector is none: %v, %v", h.id(), err, objectErr)
			continue
		}
		for _, tc := range []struct {
			labels labels.Set
			want   bool
		}{
			{inNamespace("inference", "enabled"), true},
			{inNamespace("inference", ""), false},
			{inNamespace("inference", "disabled"), false},
			{inNamespace("inference", "true"), false},
			{inNamespace("kube-system", "enabled"), false},
			{inNamespace(r.namespace, "enabled"), false},
		} {
			found.unless(namespaces.Matches(tc.labels) == tc.want, "%s: a namespace with %v must match: %t", h.id(), tc.labels, tc.want)
		}
		found.unless(objects.Matches(labels.Set{}), "%s: an object without labels must match", h.id())
		found.unless(objects.Matches(labels.Set{admissionLabel: "enabled"}), "%s: an object labelled enabled must match", h.id())
		found.unless(!objects.Matches(labels.Set{admissionLabel: "disabled"}), "%s: an exempted object must not match", h.id())
	}
	return found
}

// TestExcludedNamespaces: more namespaces can be excluded, for every webhook.
func TestExcludedNamespaces(t *testing.T) {
	for _, h := range hooks(render(t, variants(t)["everything"])) {
		selector, err := h.GetParsedNamespaceSelector()
		require.NoError(t, err)
		for _, name := range []string{"cert-manager", "monitoring"} {
			assert.False(t, selector.Matches(inNamespace(name, "enabled")), "%s in %s", h.id(), name)
		}
	}
}

// TestFailurePolicyIsForPods: the value reaches both pod webhooks.
func TestFailurePolicyIsForPods(t *testing.T) {
	for variant, want := range map[string]string{"defaults": "Fail", "everything": "Ignore"} {
		for _, h := range hooks(render(t, variants(t)[variant])) {
			if h.GetName() == "pods.berth.dev" {
				assert.Equal(t, want, string(value(h.GetFailurePolicy())), "%s: %s", variant, h.id())
			}
		}
	}
}

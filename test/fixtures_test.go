package test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.dev/berth/webhook/claim"
)

// TestFixtures sends every fixture to a berth serve of its cluster and flags.
func TestFixtures(t *testing.T) {
	groups := map[string][]*fixture{}
	for _, f := range loadFixtures(t) {
		groups[f.group()] = append(groups[f.group()], f)
	}
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, group[0].clusterFile(), group[0].rules.Flags...)
			for _, f := range group {
				t.Run(f.slug, func(t *testing.T) { f.run(t, s) })
			}
		})
	}
}

// run holds everything of one fixture.
func (f *fixture) run(t *testing.T, s *server) {
	response, body := s.review(t, f.rules.Path, f.review)
	f.assertExpected(t, response)
	assertGolden(t, f, body)
	request := requestOf(t, f.review)
	if !response.Allowed || len(request.Object) == 0 || request.Object[0] != '{' {
		return
	}
	patched := apply(t, request.Object, response.Patch)
	assertOnlyClaimNamesDiffer(t, request.Object, patched)
	f.assertClaimNames(t, patched)
	f.assertStable(t, s, patched)
}

// assertExpected holds the answer against what was written by hand.
func (f *fixture) assertExpected(t *testing.T, r *admissionv1.AdmissionResponse) {
	t.Helper()
	c := &f.rules
	assert.Equal(t, c.Verdict, verdictOf(r))
	assert.Equal(t, c.Reason, r.AuditAnnotations["reason"])
	message := ""
	if r.Result != nil {
		message = r.Result.Message
		assert.Equal(t, c.Code, r.Result.Code)
		f.assertCause(t, r.Result)
	}
	for _, name := range c.MessageNames {
		assert.Contains(t, message, name)
	}
	for _, name := range c.MessageDoesNotName {
		assert.NotContains(t, message, name)
		assert.NotContains(t, string(r.Patch), name)
	}
	warnings := strings.Join(r.Warnings, "\n")
	for _, name := range c.WarningsName {
		assert.Contains(t, warnings, name)
	}
	for _, name := range c.WarningsDoNotName {
		assert.NotContains(t, warnings, name)
	}
}

// assertCause holds that a refusal tells machines why, and of which volume.
func (f *fixture) assertCause(t *testing.T, status *metav1.Status) {
	t.Helper()
	if f.rules.Reason == string(claim.InvalidObject) {
		return
	}
	require.NotEmpty(t, status.Details.Causes)
	cause := status.Details.Causes[0]
	assert.Equal(t, f.rules.Reason, string(cause.Type))
	assert.Regexp(t, `^(spec(\.\w+(\[\d+\])?)+\.)?spec\.volumes\[\d+\]\.persistentVolumeClaim\.claimName$|^spec\.volumes$`, cause.Field)
	assert.NotEmpty(t, cause.Message)
}

func verdictOf(r *admissionv1.AdmissionResponse) string {
	switch {
	case !r.Allowed:
		return "refused"
	case len(r.Patch) > 0:
		return "rewritten"
	default:
		return "allowed"
	}
}

// assertClaimNames holds the claimNames of the patched pod against those written by hand.
func (f *fixture) assertClaimNames(t *testing.T, patched []byte) {
	t.Helper()
	if f.rules.SelectedNode != "" {
		meta, _ := decodeObject(t, patched)["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		assert.Equal(t, f.rules.SelectedNode, annotations[selectedNodeAnnotation])
	}
	got := claimNamesOf(t, patched)
	if len(got) == 0 && len(f.rules.ClaimNames) == 0 {
		return
	}
	assert.Equal(t, f.rules.ClaimNames, got)
}

// assertStable holds that the object that comes of it needs nothing more: the
// API server may call again, and the twin sees it last.
func (f *fixture) assertStable(t *testing.T, s *server, patched []byte) {
	t.Helper()
	again := withObject(t, f.review, patched)
	if f.rules.Path == "/mutate" {
		second, _ := s.review(t, "/mutate", again)
		assert.Equal(t, "allowed", verdictOf(second), "the second call: %v %s", second.Result, second.Patch)
	}
	twin, _ := s.review(t, "/validate", again)
	assert.Equal(t, "allowed", verdictOf(twin), "the validating twin: %v", twin.Result)
}

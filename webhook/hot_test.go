package webhook

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/lookup"
)

// hotReview is the CREATE of a DaemonSet's pod as the API server sends it, and a
// pipeline over the store that Berth serves from, which rewrites it.
func hotReview(t testing.TB) (*Pipeline, []byte) {
	t.Helper()
	rules := claim.DefaultRules()
	store := lookup.NewStore(&rules)
	store.ReplaceNodes([]*claim.Node{{Name: "node-a", Labels: map[string]string{corev1.LabelHostname: "node-a"}}})
	store.ReplacePVCs([]*claim.PVC{{
		Namespace: "ml", Name: "model-cache-node-a", Claim: "model-cache", Node: "node-a", Phase: corev1.ClaimBound, VolumeName: "pv-a",
	}})
	store.ReplacePVs([]*claim.PV{{Name: "pv-a", Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"node-a"}}},
	}}}}})
	body, err := os.ReadFile("../test/fixtures/pins/daemonset-pod/review.json")
	require.NoError(t, err)
	var compact bytes.Buffer // as the API server writes
	require.NoError(t, json.Compact(&compact, body))
	return NewPipeline(store, &rules, nil), compact.Bytes()
}

// BenchmarkHotReview is bytes to bytes, with json.Valid over the same bytes beside
// it for a measure of the machine.
func BenchmarkHotReview(b *testing.B) {
	p, body := hotReview(b)
	b.Run("Berth", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			_, _, _ = p.Review(b.Context(), admission.Mutate, body, time.Time{})
		}
	})
	b.Run("json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			_ = json.Valid(body)
		}
	})
}

// TestAReviewAllocatesNoMoreThanItsCeiling holds what reviews allocate: garbage is
// work for later, and it doesn't depend on the machine. What nobody reads of a pod
// must cost nothing.
func TestAReviewAllocatesNoMoreThanItsCeiling(t *testing.T) {
	p, body := hotReview(t)
	large := strings.Replace(string(body), `"metadata":{`, `"metadata":{"managedFields":[`+strings.Repeat(`{"fieldsV1":{"f:spec":{"f:containers":{}}}},`, 1000)+`{}],`, 1)
	require.Greater(t, len(large), 2*len(body))
	for what, c := range map[string]struct {
		body    string
		road    admission.Road
		result  string
		ceiling float64
	}{
		"if a DaemonSet's pod is rewritten":        {string(body), admission.Mutate, "rewritten", 36},
		"if it is ten times as large":              {large, admission.Mutate, "rewritten", 36},
		"if the twin looks at it once more":        {strings.Replace(string(body), `"claimName":"model-cache"`, `"claimName":"model-cache-node-a"`, 1), admission.Validate, "allowed", 26},
		"if its claim is nobody's":                 {strings.ReplaceAll(string(body), "model-cache", "scratch"), admission.Mutate, "allowed", 26},
		"if it is an UPDATE, which nobody decodes": {strings.Replace(string(body), "CREATE", "UPDATE", 1), admission.Mutate, "allowed", 8},
	} {
		t.Run(what, func(t *testing.T) {
			review := []byte(c.body)
			_, out, err := p.Review(t.Context(), c.road, review, time.Time{})
			require.NoError(t, err)
			require.Equal(t, c.result, out.Decision.Result(), out.Decision.Message)
			got := testing.AllocsPerRun(200, func() { _, _, _ = p.Review(t.Context(), c.road, review, time.Time{}) })
			t.Logf("%.0f allocations", got)
			assert.LessOrEqual(t, got, c.ceiling)
		})
	}
}

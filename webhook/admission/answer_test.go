package admission_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// TestAnAnswerIsWhatTheLibraryWouldWrite reads answers into the API's types and
// has the library write them again: not a byte may differ.
func TestAnAnswerIsWhatTheLibraryWouldWrite(t *testing.T) {
	odd := []string{"plain", "", `quotes " and \ back`, "<tags> & such", "line\nand\ttab", "é 😀 \u2028", "\x00\x1f\x7f", strings.Repeat("long ", 300)}
	decisions := map[string]admission.Decision{
		"if it is allowed":        {},
		"if it is allowed to all": {Node: "node-a", PVCs: "a=b,c=d", Warnings: []string{"one", "two"}},
		"if it is rewritten": {Node: "node-a", PVCs: "a=b", Patch: []admission.Operation{
			{Op: "replace", Path: "/spec/volumes/0/persistentVolumeClaim/claimName", Value: "b"},
			{Op: "add", Path: "/metadata", Value: map[string]any{"annotations": map[string]string{"k": "v"}}},
		}},
		"if it is refused": {Reason: claim.NotPinned, Message: "no", Causes: []metav1.StatusCause{{Type: "NotPinned", Field: "spec", Message: "m"}}},
	}
	for _, s := range odd {
		decisions["with "+s] = admission.Decision{
			Node: s, PVCs: s, Warnings: []string{s, s, "x" + s}, Patch: []admission.Operation{{Op: "add", Path: "/metadata/annotations/" + s, Value: s}},
		}
		decisions["refused with "+s] = admission.Decision{Reason: claim.NoNodePVC, Message: s, Warnings: []string{s}}
	}
	for what, d := range decisions {
		t.Run(what, func(t *testing.T) {
			for _, uid := range odd {
				got := d.Respond(&admission.Request{UID: uid, Resource: "pods", Name: "n"})
				var review admissionv1.AdmissionReview
				require.NoError(t, json.Unmarshal(got, &review), "%s", got)
				again, err := json.Marshal(review)
				require.NoError(t, err)
				assert.Equal(t, string(again), string(got))
				if len(d.Patch) > 0 {
					patch, err := json.Marshal(d.Patch)
					require.NoError(t, err)
					assert.Equal(t, string(patch), string(review.Response.Patch))
				}
			}
		})
	}
}

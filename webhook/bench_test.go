package webhook

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// BenchmarkReview is one review from bytes to bytes, with json.Valid over the
// same bytes beside it for a measure of the machine.
func BenchmarkReview(b *testing.B) {
	v := crowd()
	rules := claim.DefaultRules()
	p := NewPipeline(lagging{v, v}, &rules, &reader{answer: v.Answer})
	bodies := map[string][]byte{
		"small pod, rewritten": lagPod{node: "node-7", claim: "model"}.body(),
		"small pod, refused":   lagPod{claim: "model"}.body(),
	}
	sent, err := os.ReadFile("../test/fixtures/pins/daemonset-pod/review.json")
	require.NoError(b, err)
	bodies["DaemonSet pod as the API server sends it"] = sent
	for what, body := range bodies {
		b.Run(what, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				_, out, err := p.Review(b.Context(), admission.Mutate, body, time.Now().Add(time.Minute))
				require.NoError(b, err)
				require.NotEqual(b, "error", out.Decision.Result())
			}
		})
		b.Run(what+", json.Valid", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				require.True(b, json.Valid(body))
			}
		})
	}
}

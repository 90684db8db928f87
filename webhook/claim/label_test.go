package claim_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/util/validation"

	"berth.dev/berth/webhook/claim"
)

// libraryAgrees fails where the rules without regular expressions differ from
// those of the API server.
func libraryAgrees(t *testing.T, text string) {
	t.Helper()
	require.Equal(t, len(validation.IsValidLabelValue(text)) == 0, claim.IsLabelValue(text), "label value %q", text)
	require.Equal(t, len(validation.IsQualifiedName(text)) == 0, claim.IsLabelKey(text), "label key %q", text)
	require.Equal(t, len(validation.IsQualifiedName(text+"/a")) == 0, claim.IsLabelKey(text+"/a"), "label key %q", text+"/a")
	require.Equal(t, text != "" && len(validation.IsValidLabelValue(text)) == 0, claim.IsClaimName(text), "claim %q", text)
}

// TestLabelsAreJudgedAsTheAPIServerDoes: every text of two bytes, and random ones
// around all that the rules speak of.
func TestLabelsAreJudgedAsTheAPIServerDoes(t *testing.T) {
	for a := range 256 {
		libraryAgrees(t, string([]byte{byte(a)}))
		for b := range 256 {
			libraryAgrees(t, string([]byte{byte(a), byte(b)}))
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		text := make([]byte, random.IntN(12))
		for i := range text {
			const alphabet = "aZ09az-_./ \n\x00é"
			text[i] = alphabet[random.IntN(len(alphabet))]
		}
		libraryAgrees(t, string(text))
	}
}

func TestLabelsOfTheLongestLengthsAreJudgedAsTheAPIServerDoes(t *testing.T) {
	for _, n := range []int{62, 63, 64, 252, 253, 254} {
		long, parts := strings.Repeat("a", n), strings.Repeat("a.", n/2)+strings.Repeat("a", n%2)
		for _, text := range []string{long, parts, strings.TrimSuffix(parts, "."), long + "/a", "a/" + long, long + "/" + long, parts + "/a", strings.TrimSuffix(parts, ".") + "/a"} {
			libraryAgrees(t, text)
		}
	}
}

func FuzzLabels(f *testing.F) {
	for _, seed := range []string{"", "a", "kubernetes.io/hostname", "-a", "a.", "A/a", "a//b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { libraryAgrees(t, text) })
}

package lookup

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

// TestManyQuestionsCostOneList: a pod may name thousands of hosts or claims;
// the API server is asked once for each kind.
func TestManyQuestionsCostOneList(t *testing.T) {
	ask := func(n int, of func(i int) claim.Question) []claim.Question {
		var out []claim.Question
		for i := range n {
			out = append(out, of(i))
		}
		return out
	}
	host := func(i int) claim.Question {
		return claim.Question{Kind: claim.AskNodesByLabel, Name: corev1.LabelHostname, Value: fmt.Sprintf("h%d", i)}
	}
	for what, c := range map[string]struct {
		questions []claim.Question
		calls     map[string]int
		says      map[claim.Question][]string
	}{
		"if thousands of hosts are asked for, one list": {
			questions: append(ask(5000, host), claim.Question{Kind: claim.AskNode, Name: "n2"}, claim.Question{Kind: claim.AskNode, Name: "none"}),
			calls:     map[string]int{"nodes ok": 1},
			says: map[claim.Question][]string{
				host(1): {"node n1", "node n2"}, host(2): nil,
				{Kind: claim.AskNode, Name: "n2"}: {"node n2"}, {Kind: claim.AskNode, Name: "none"}: nil,
			},
		},
		"if a few are asked for, each by itself": {
			questions: ask(nodesApart, host), calls: map[string]int{"nodes ok": nodesApart},
			says: map[claim.Question][]string{host(1): {"node n1", "node n2"}},
		},
		"if hundreds of claims of a namespace are asked for, one list": {
			questions: append(ask(300, func(i int) claim.Question {
				return claim.Question{Kind: claim.AskClaim, Namespace: "ml", Name: fmt.Sprintf("c%d", i)}
			}), claim.Question{Kind: claim.AskClaim, Namespace: "ml", Name: "x"}, claim.Question{Kind: claim.AskPVC, Namespace: "ml", Name: "plain"},
				claim.Question{Kind: claim.AskClaim, Namespace: "ml", Name: "y"}, claim.Question{Kind: claim.AskPVC, Namespace: "ml", Name: "none"}),
			calls: map[string]int{"persistentvolumeclaims ok": 1},
			says: map[claim.Question][]string{
				{Kind: claim.AskClaim, Namespace: "ml", Name: "x"}: {"pvc ml/x-a"}, {Kind: claim.AskPVC, Namespace: "ml", Name: "plain"}: {"pvc ml/plain"},
				{Kind: claim.AskClaim, Namespace: "ml", Name: "y"}: nil, {Kind: claim.AskPVC, Namespace: "ml", Name: "none"}: nil,
			},
		},
	} {
		t.Run(what, func(t *testing.T) {
			live, _, seen := fakeLive(apiNode("n1", map[string]string{corev1.LabelHostname: "h1"}), apiNode("n2", map[string]string{corev1.LabelHostname: "h1"}),
				apiPVC("ml", "x-a", "x", "a"), apiPVC("ml", "plain", "", ""), apiPVC("lab", "y-a", "y", "a"))
			facts, err := live.Read(t.Context(), c.questions)
			require.NoError(t, err)
			assert.Len(t, facts, len(c.questions), "every question has its answer, and nothing else is there")
			assert.Equal(t, c.calls, seen.all())
			for q, want := range c.says {
				assert.Equal(t, want, described(facts[q]), "%+v", q)
			}
		})
	}
}

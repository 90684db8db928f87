package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// answerOf reads an answer as the API server does.
func answerOf(t *testing.T, body []byte) (uid string, allowed bool, code int) {
	t.Helper()
	var review struct {
		Response struct {
			UID     string
			Allowed bool
			Status  struct{ Code int }
		}
	}
	require.NoError(t, json.Unmarshal(body, &review), string(body))
	return review.Response.UID, review.Response.Allowed, review.Response.Status.Code
}

func TestReviewFromTheViewAlone(t *testing.T) {
	live := &reader{}
	answer, out, err := pipelineOf(emptyView{}, live).Review(t.Context(), admission.Mutate, []byte(plainReview("u-1", "", "pods", "DELETE")), inAMinute())
	require.NoError(t, err)
	uid, allowed, _ := answerOf(t, answer)
	assert.Equal(t, "u-1", uid)
	assert.True(t, allowed)
	assert.Empty(t, live.calls, "a decision without doubt costs no call")
	assert.Zero(t, out.Rounds)
	assert.Equal(t, "u-1", out.Request.UID)
}

func TestReviewReadsDoubtsLive(t *testing.T) {
	live := &reader{}
	answer, out, err := pipelineOf(emptyView{}, live).Review(t.Context(), admission.Mutate, []byte(podReview("u-2", "unheard-of")), inAMinute())
	require.NoError(t, err)
	_, allowed, _ := answerOf(t, answer)
	assert.True(t, allowed)
	require.Len(t, live.calls, 1)
	assert.Contains(t, live.calls[0], claim.Question{Kind: claim.AskPVC, Namespace: "ml", Name: "unheard-of"})
	assert.Equal(t, 1, out.Rounds)
}

func TestReviewTakesLiveFactsOverTheView(t *testing.T) {
	live := &reader{answer: func(q claim.Question) claim.Answer {
		if q.Kind != claim.AskClaim {
			return claim.Answer{}
		}
		return claim.Answer{PVCs: []*claim.PVC{{Namespace: "ml", Name: "model-cache-node-a", Claim: "model-cache", Node: "node-a"}}}
	}}
	answer, out, err := pipelineOf(emptyView{}, live).Review(t.Context(), admission.Mutate, []byte(podReview("u-3", "model-cache")), inAMinute())
	require.NoError(t, err)
	_, allowed, code := answerOf(t, answer)
	assert.False(t, allowed, "the View knows no such claim, but the cluster does")
	assert.Equal(t, 422, code)
	assert.Equal(t, claim.NotPinned, out.Decision.Reason)
}

func TestReviewWithoutLiveReaderStandsAtOnce(t *testing.T) {
	answer, out, err := pipelineOf(emptyView{claim: "model-cache"}, nil).Review(t.Context(), admission.Mutate, []byte(podReview("u-4", "model-cache")), inAMinute())
	require.NoError(t, err)
	_, allowed, _ := answerOf(t, answer)
	assert.False(t, allowed)
	assert.Equal(t, claim.NotPinned, out.Decision.Reason)
	assert.Zero(t, out.Rounds)
}

func TestReviewRounds(t *testing.T) {
	cases := map[string]struct {
		doubts     int // decisions in a row that doubt something new
		wantRounds int
		wantReason claim.Reason
	}{
		"no doubt, no round":                         {0, 0, ""},
		"one doubt, one round":                       {1, 1, ""},
		"four rounds are enough for four doubts":     {4, 4, ""},
		"a fifth doubt makes the cluster unreadable": {5, 4, claim.ClusterUnreadable},
		"endless doubts end after four rounds":       {1000, 4, claim.ClusterUnreadable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			live := &reader{}
			p := pipelineOf(emptyView{}, live)
			decided := 0
			p.decide = func(_ admission.Road, _ *admission.Request, reads *claim.Reads) admission.Decision {
				// Whatever was asked in earlier rounds is doubted again, as a real decision would.
				for i := range min(decided+1, tc.doubts) {
					reads.Doubt(claim.Question{Kind: claim.AskNode, Name: string(rune('a' + i%26)), Value: time.Duration(i).String()})
				}
				decided++
				return admission.Decision{}
			}
			answer, out, err := p.Review(t.Context(), admission.Mutate, []byte(podReview("u-5", "x")), inAMinute())
			require.NoError(t, err)
			uid, _, _ := answerOf(t, answer)
			assert.Equal(t, "u-5", uid)
			assert.Equal(t, tc.wantReason, out.Decision.Reason)
			assert.Equal(t, tc.wantRounds, out.Rounds)
			require.Len(t, live.calls, tc.wantRounds)
			for _, questions := range live.calls {
				assert.Len(t, questions, 1, "what has been read is not read again")
			}
		})
	}
}

func TestReviewRoundsShareOneDeadline(t *testing.T) {
	live := &reader{}
	p := pipelineOf(emptyView{}, live)
	p.decide = func(_ admission.Road, _ *admission.Request, reads *claim.Reads) admission.Decision {
		for i := range len(live.calls) + 1 {
			reads.Doubt(claim.Question{Kind: claim.AskNode, Name: time.Duration(i).String()})
		}
		return admission.Decision{}
	}
	deadline := inAMinute()
	_, _, err := p.Review(t.Context(), admission.Mutate, []byte(podReview("u-6", "x")), deadline)
	require.NoError(t, err)
	require.Len(t, live.deadlines, 4)
	for _, got := range live.deadlines {
		assert.Equal(t, deadline, got)
	}
}

func TestReviewWhenTheClusterCantBeRead(t *testing.T) {
	live := &reader{err: errors.New("persistentvolumeclaims: connection refused")}
	answer, out, err := pipelineOf(emptyView{claim: "model-cache"}, live).Review(context.Background(), admission.Mutate, []byte(podReview("u-7", "model-cache")), inAMinute())
	require.NoError(t, err)
	uid, allowed, code := answerOf(t, answer)
	assert.Equal(t, "u-7", uid)
	assert.False(t, allowed, "a refusal that can't be confirmed is not turned into an admission")
	assert.Equal(t, 503, code)
	assert.Equal(t, claim.ClusterUnreadable, out.Decision.Reason)
	assert.Contains(t, string(answer), "connection refused")
	assert.Len(t, live.calls, 1)
}

func TestReviewOfGarbage(t *testing.T) {
	answer, out, err := pipelineOf(emptyView{}, nil).Review(t.Context(), admission.Mutate, []byte(`{"kind":"Pod"}`), inAMinute())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "\n")
	assert.Nil(t, answer)
	assert.Nil(t, out.Request)
}

func TestReviewSurvivesPanics(t *testing.T) {
	t.Run("after the uid is known, the answer bears it and code 500", func(t *testing.T) {
		answer, out, err := pipelineOf(panicView{}, nil).Review(t.Context(), admission.Mutate, []byte(podReview("u-8", "x")), inAMinute())
		require.NoError(t, err)
		uid, allowed, code := answerOf(t, answer)
		assert.Equal(t, "u-8", uid)
		assert.False(t, allowed)
		assert.Equal(t, 500, code)
		assert.Equal(t, claim.InternalError, out.Decision.Reason)
		require.NotNil(t, out.Panic)
		assert.Contains(t, string(out.Panic.Stack), "panicView", "the stack names the place")
	})
	t.Run("before it, the panic is the error", func(t *testing.T) {
		p := pipelineOf(emptyView{}, nil)
		p.decode = func([]byte) (*admission.Request, error) { panic("decode is broken") }
		answer, out, err := p.Review(t.Context(), admission.Mutate, []byte("{}"), inAMinute())
		require.ErrorAs(t, err, new(*PanicError))
		require.ErrorContains(t, err, "decode is broken")
		assert.Nil(t, answer)
		assert.NotNil(t, out.Panic)
	})
}

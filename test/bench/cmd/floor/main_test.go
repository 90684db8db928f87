package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"berth.dev/berth/test/bench/world"
)

func TestAnswersAllowWhatIsAsked(t *testing.T) {
	r := world.World{Nodes: 1, Claims: 1}.PodReview(0, 0)
	for last, patched := range map[string]bool{"mutate": true, "validate": false} {
		answer, err := answerTo(last, r.Body)
		require.NoError(t, err)
		var review admissionv1.AdmissionReview
		require.NoError(t, json.Unmarshal(answer, &review))
		assert.Equal(t, r.UID, review.Response.UID)
		assert.True(t, review.Response.Allowed)
		require.Equal(t, patched, review.Response.Patch != nil)
		if patched {
			object, err := r.Patched(review.Response.Patch)
			require.NoError(t, err)
			assert.Contains(t, string(object), `"claimName":"`+world.ClaimName(0)+`"`)
		}
	}
}

func TestAnswersHaveTheSizeThatIsAskedFor(t *testing.T) {
	answer, err := answerTo("17", nil)
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat(" ", 17), string(answer))
	for _, bad := range []string{"", "-1", "x"} {
		_, err := answerTo(bad, nil)
		assert.Error(t, err, bad)
	}
}

func TestBodiesAreCheckedIfThatIsWanted(t *testing.T) {
	for body, codes := range map[string]map[bool]int{
		`{"a":1}`: {false: http.StatusOK, true: http.StatusOK},
		`{"a":`:   {false: http.StatusOK, true: http.StatusBadRequest},
	} {
		for valid, code := range codes {
			w := httptest.NewRecorder()
			answer(valid)(w, httptest.NewRequest(http.MethodPost, "/5", strings.NewReader(body)))
			assert.Equal(t, code, w.Code, body)
		}
	}
}

package test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds on what people read. An Event holds 1,024 characters of message, and
// what the controller puts around it wants room, too.
const (
	messageMax  = 900
	warningsMax = 10
	warningMax  = 120
)

// review posts a review and holds of the answer what holds of every answer.
func (s *server) review(t *testing.T, path string, review []byte) (*admissionv1.AdmissionResponse, []byte) {
	t.Helper()
	code, header, body := s.post(t, path, "application/json", bytes.NewReader(review))
	require.Equal(t, http.StatusOK, code, "%s", body)
	assert.Equal(t, "application/json", header.Get("Content-Type"))
	var answer admissionv1.AdmissionReview
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&answer))
	assert.Equal(t, "admission.k8s.io/v1", answer.APIVersion)
	assert.Equal(t, "AdmissionReview", answer.Kind)
	assert.Nil(t, answer.Request, "an answer carries no request")
	require.NotNil(t, answer.Response)
	assert.Equal(t, uidOf(t, review), string(answer.Response.UID))
	assertSound(t, answer.Response)
	return answer.Response, body
}

// assertSound holds what the API server, kubectl and people ask of any answer.
func assertSound(t *testing.T, r *admissionv1.AdmissionResponse) {
	t.Helper()
	assert.LessOrEqual(t, len(r.Warnings), warningsMax)
	for _, w := range r.Warnings {
		assert.LessOrEqual(t, utf8.RuneCountInString(w), warningMax, w)
		assertOneLine(t, w)
	}
	for key, value := range r.AuditAnnotations {
		assert.Contains(t, []string{"reason", "node", "pvcs"}, key)
		assert.NotEmpty(t, value, key)
		assertOneLine(t, value)
	}
	if len(r.Patch) > 0 {
		require.NotNil(t, r.PatchType)
		assert.Equal(t, admissionv1.PatchTypeJSONPatch, *r.PatchType)
	} else {
		assert.Nil(t, r.PatchType)
	}
	if r.Allowed {
		assert.Nil(t, r.Result, "an admitted object gets no status")
		return
	}
	assert.Empty(t, r.Patch, "a refused object gets no patch")
	require.NotNil(t, r.Result)
	assertRefusal(t, r.Result)
}

func assertRefusal(t *testing.T, status *metav1.Status) {
	t.Helper()
	assert.Equal(t, metav1.StatusFailure, status.Status)
	assert.NotEmpty(t, status.Message)
	assert.LessOrEqual(t, utf8.RuneCountInString(status.Message), messageMax, "the message must fit an Event")
	assertOneLine(t, status.Message)
	assert.NotContains(t, strings.ToLower(status.Message), "use spec.nodename", "nodeName skips the scheduler: never advise it")
	assert.NotEqual(t, metav1.StatusReasonInvalid, status.Reason, "kubectl drops the message of an Invalid status")
	assert.NotEqual(t, metav1.StatusReasonUnknown, status.Reason)
	require.NotNil(t, status.Details)
	assert.Zero(t, status.Details.RetryAfterSeconds, "client-go would retry inside the call")
	for _, cause := range status.Details.Causes {
		assert.NotEmpty(t, cause.Type)
		assert.Regexp(t, `^spec\.`, cause.Field)
		assertOneLine(t, cause.Message)
	}
}

// assertOneLine holds that a text has no control characters nor line separators.
func assertOneLine(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 || r == utf8.RuneError {
			assert.Failf(t, "not one clean line", "%q", text)
			return
		}
	}
}

package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Warnings are few and short: the API server cuts them beyond 4,096 characters
// in all, and kubectl prints each on a line of its own.
const (
	warningsMax      = 10
	warningMaxLength = 120
)

// auditMax bounds an audit annotation: a node's name, or a few PVCs.
const auditMax = 512

// Respond writes the AdmissionReview that answers a request. Each answer is a
// value of its own: a shared one would bear another request's uid.
func (d Decision) Respond(req *Request) []byte {
	response := &admissionv1.AdmissionResponse{
		UID: types.UID(req.UID), Allowed: d.Allowed(),
		Warnings: d.warnings(), AuditAnnotations: d.audit(),
	}
	if !d.Allowed() {
		response.Result = d.status(req)
	} else if len(d.Patch) > 0 {
		jsonPatch := admissionv1.PatchTypeJSONPatch
		response.Patch, response.PatchType = mustMarshal(d.Patch), &jsonPatch
	}
	return mustMarshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Response: response,
	})
}

// status is the refusal as the API server hands it to the client.
func (d Decision) status(req *Request) *metav1.Status {
	return &metav1.Status{
		Status: metav1.StatusFailure, Message: d.Message, Reason: statusReason(d.Reason.Code()), Code: d.Reason.Code(),
		Details: &metav1.StatusDetails{Name: req.Name, Group: req.Group, Kind: req.Resource, Causes: d.Causes},
	}
}

// statusReason is the general reason for a code. The package doc says why it
// is neither Invalid nor a word of Berth's own.
func statusReason(code int32) metav1.StatusReason {
	switch code {
	case 400:
		return metav1.StatusReasonBadRequest
	case 500:
		return metav1.StatusReasonInternalError
	case 503:
		return metav1.StatusReasonServiceUnavailable
	default:
		return metav1.StatusReasonForbidden
	}
}

// audit are the audit annotations. The keys are bare: the API server prefixes
// the webhook's name and drops a key with a second slash.
func (d Decision) audit() map[string]string {
	out := map[string]string{}
	for key, value := range map[string]string{"reason": string(d.Reason), "node": d.Node, "pvcs": d.PVCs} {
		if value != "" {
			out[key] = shorten(oneLine(value), auditMax)
		}
	}
	return out
}

func (d Decision) warnings() []string {
	var out []string
	for _, w := range d.Warnings {
		if w = shorten(oneLine(w), warningMaxLength); !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	if more := len(out) - warningsMax + 1; more > 1 {
		out = append(out[:warningsMax-1], fmt.Sprintf("and %d more warnings", more))
	}
	return out
}

// shorten cuts a text to so many characters.
func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:most-1]), " ") + "…"
}

// mustMarshal panics where marshalling fails, which these types never do.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

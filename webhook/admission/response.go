package admission

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	b := append(make([]byte, 0, answerSize), `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":`...)
	b = appendString(b, req.UID)
	if d.Allowed() {
		b = append(b, `,"allowed":true`...)
		b = d.appendPatch(b)
	} else {
		b = append(b, `,"allowed":false,"status":`...)
		b = append(b, mustMarshal(d.status(req))...)
	}
	b = d.appendAudit(b)
	b = d.appendWarnings(b)
	return append(b, "}}"...)
}

// answerSize is enough for the answer to nearly every pod.
const answerSize = 640

// appendPatch writes the patch, which an AdmissionResponse holds in base64.
func (d Decision) appendPatch(b []byte) []byte {
	if len(d.Patch) == 0 {
		return b
	}
	var room [answerSize]byte
	patch := appendOperations(room[:0], d.Patch)
	b = append(b, `,"patch":"`...)
	b = base64.StdEncoding.AppendEncode(b, patch)
	return append(b, `","patchType":"JSONPatch"`...)
}

// appendAudit writes the audit annotations. The keys are bare: the API server
// prefixes the webhook's name and drops a key with a second slash.
func (d Decision) appendAudit(b []byte) []byte {
	before := len(b)
	for _, a := range [...]annotation{{"node", d.Node}, {"pvcs", d.PVCs}, {"reason", string(d.Reason)}} {
		if a.value == "" {
			continue
		}
		open := ","
		if len(b) == before {
			open = `,"auditAnnotations":{`
		}
		b = append(append(append(append(b, open...), '"'), a.key...), `":`...)
		b = appendString(b, shorten(oneLine(a.value), auditMax))
	}
	if len(b) == before {
		return b
	}
	return append(b, '}')
}

func (d Decision) appendWarnings(b []byte) []byte {
	for i, w := range d.warnings() {
		open := ","
		if i == 0 {
			open = `,"warnings":[`
		}
		b = appendString(append(b, open...), w)
	}
	if len(d.Warnings) == 0 {
		return b
	}
	return append(b, ']')
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
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:most-1]), " ") + "…"
}

// appendString writes a JSON string, as encoding/json does.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return append(b, mustMarshal(s)...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// mustMarshal panics where marshalling fails, which these types never do.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

package admission

import (
	"fmt"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.dev/berth/webhook/claim"
)

// Decision is what becomes of a request. A refusal is a decision, not an error.
type Decision struct {
	Reason   claim.Reason // why it is refused; "" if it is allowed
	Message  string       // one line for people: what, why and what to do
	Causes   []metav1.StatusCause
	Warnings []string
	Patch    []Operation
	Node     string // the node the pod is pinned to, if that was found out
	Claim    string // the first node-local claim judged
	PVCs     string // what stands in the claims' places: "claim=pvc,…"
}

// Allowed tells whether the request is admitted.
func (d Decision) Allowed() bool { return d.Reason == "" }

// Result is the outcome in one word: allowed, rewritten, refused or error.
func (d Decision) Result() string {
	switch d.Reason {
	case "":
		if len(d.Patch) > 0 {
			return "rewritten"
		}
		return "allowed"
	case claim.ClusterUnreadable, claim.InvalidObject, claim.InternalError:
		return "error"
	default:
		return "refused"
	}
}

// Results are all outcomes of [Decision.Result].
func Results() []string { return []string{"allowed", "rewritten", "refused", "error"} }

// Decide judges a request. Every refusal that rests on the cluster is marked in
// reads to be confirmed live.
func Decide(road Road, req *Request, reads *claim.Reads) Decision {
	d := decide(road, req, reads)
	if !d.Allowed() && d.Reason != claim.InvalidObject {
		reads.DoubtAll()
	}
	return d
}

// decide goes by the kind and the operation. Subresources carry other objects,
// or change nothing that Berth judges; a pod's volumes never change after CREATE.
func decide(road Road, req *Request, reads *claim.Reads) Decision {
	create, update := req.Operation == "CREATE", req.Operation == "UPDATE"
	core := req.Group == ""
	switch {
	case req.SubResource != "" || !create && !update:
		return Decision{}
	case core && req.Resource == "pods":
		if update {
			return Decision{}
		}
		return decidePod(road, req, reads)
	case core && req.Resource == "persistentvolumeclaims":
		return decidePVC(road, req, reads)
	default:
		return decideWorkload(req, reads)
	}
}

// Unreadable refuses, retriably, because the API server could not be asked for
// what the decision needs.
func Unreadable(_ *Request, err error) Decision {
	return Decision{
		Reason:  claim.ClusterUnreadable,
		Message: message("can't decide now: the cluster could not be read: " + err.Error() + ". Try again."),
	}
}

// Crashed refuses after a bug in Berth; the log has the stack.
func Crashed(*Request) Decision {
	return Decision{Reason: claim.InternalError, Message: "berth failed on this request; its log has the details under this uid."}
}

func invalid(req *Request, err error) Decision {
	return Decision{
		Reason:  claim.InvalidObject,
		Message: message(fmt.Sprintf("the object in %s can't be read: %s", req.Resource, err)),
	}
}

// Names come from requests, before the API server has looked at them: they may
// be of any length. An Event's message is cut at 1,024 characters, and the
// controllers that write it put words of their own in front.
const (
	messageMax = 900
	wordMax    = 130
)

// message is one line fit for an Event: no word, and not the whole, is longer
// than people would read.
func message(s string) string {
	words := strings.Fields(s)
	for i, w := range words {
		words[i] = shorten(w, wordMax)
	}
	return shorten(strings.Join(words, " "), messageMax)
}

// oneLine keeps a text fit for a log line.
func oneLine(s string) string {
	if !strings.ContainsFunc(s, unicode.IsSpace) {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

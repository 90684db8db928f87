package admission

import (
	"fmt"
	"slices"
	"strings"

	"berth.dev/berth/webhook/claim"
)

// Operation is one operation of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func replaceClaimName(volume int, pvc string) Operation {
	return Operation{Op: "replace", Path: fmt.Sprintf("/spec/volumes/%d/persistentVolumeClaim/claimName", volume), Value: pvc}
}

// annotate sets an annotation on an object that may lack the annotations.
func annotate(m *metadata, key, value string) Operation {
	switch {
	case m == nil:
		return Operation{Op: "add", Path: "/metadata", Value: map[string]any{"annotations": map[string]string{key: value}}}
	case m.Annotations == nil:
		return Operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{key: value}}
	default:
		return Operation{Op: "add", Path: "/metadata/annotations/" + escape(key), Value: value}
	}
}

// escape makes a key a reference token of a JSON Pointer (RFC 6901).
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// written are the claims in whose place Berth put a PVC, as its annotation
// berth.dev/node-pvcs says. Anybody may write that annotation, so it never
// decides alone.
type written map[string]string

func parseWritten(value string) written {
	out := written{}
	for pair := range strings.SplitSeq(value, ",") {
		if name, pvc, ok := strings.Cut(pair, "="); ok && claim.IsClaimName(name) && pvc != "" {
			out[name] = pvc
		}
	}
	return out
}

// claimOf is the claim in whose place Berth put this PVC, or "".
func (w written) claimOf(pvc string) string {
	best := ""
	for name, p := range w {
		if p == pvc && (best == "" || name < best) {
			best = name
		}
	}
	return best
}

// String is the annotation's value, sorted by claim.
func (w written) String() string {
	pairs := make([]string, 0, len(w))
	for name, pvc := range w {
		pairs = append(pairs, name+"="+pvc)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

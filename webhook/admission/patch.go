package admission

import (
	"encoding/json"
	"slices"
	"strconv"
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
	return Operation{Op: "replace", Path: "/spec/volumes/" + strconv.Itoa(volume) + "/persistentVolumeClaim/claimName", Value: pvc}
}

// annotations are an object of one field, as the value of an operation.
type annotations annotation

// MarshalJSON writes the object.
func (a annotations) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{a.key: a.value})
}

// appendOperations writes a JSON Patch.
func appendOperations(b []byte, patch []Operation) []byte {
	for i, o := range patch {
		open := "["
		if i > 0 {
			open = ","
		}
		b = append(append(append(b, open...), `{"op":"`...), o.Op...)
		b = appendString(append(b, `","path":`...), o.Path)
		b = append(b, `,"value":`...)
		switch value := o.Value.(type) {
		case string:
			b = appendString(b, value)
		case annotations:
			b = appendString(append(b, '{'), value.key)
			b = append(appendString(append(b, ':'), value.value), '}')
		default:
			b = append(b, mustMarshal(value)...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// annotate sets an annotation on an object that may lack the annotations.
func annotate(hasMetadata, hasAnnotations bool, key, value string) Operation {
	switch {
	case !hasMetadata:
		return Operation{Op: "add", Path: "/metadata", Value: map[string]any{"annotations": annotations{key, value}}}
	case !hasAnnotations:
		return Operation{Op: "add", Path: "/metadata/annotations", Value: annotations{key, value}}
	default:
		return Operation{Op: "add", Path: "/metadata/annotations/" + escape(key), Value: value}
	}
}

// escape makes a key a reference token of a JSON Pointer (RFC 6901).
func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// written are the claims in whose place Berth put a PVC, as its annotation
// berth.dev/node-pvcs says. Anybody may write that annotation, so it never
// decides alone.
type written map[string]string

func parseWritten(value string) written {
	if value == "" {
		return nil
	}
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

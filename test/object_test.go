package test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// What Berth writes beside claimNames: on a pod which PVCs it took, and on a
// node PVC the node that it selected.
const (
	nodePVCsAnnotation     = "berth.dev/node-pvcs"
	selectedNodeAnnotation = "volume.kubernetes.io/selected-node"
)

// decodeObject reads JSON with its numbers as they stand: those above 2^53 would
// be rounded as floats, and a lost digit would go unseen.
func decodeObject(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var object map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&object))
	return object
}

// request is what the runner needs of a review.
type request struct {
	UID       string          `json:"uid"`
	Operation string          `json:"operation"`
	Object    json.RawMessage `json:"object"`
}

func requestOf(t *testing.T, review []byte) request {
	t.Helper()
	var r struct {
		Request request `json:"request"`
	}
	require.NoError(t, json.Unmarshal(review, &r))
	return r.Request
}

func uidOf(t *testing.T, review []byte) string {
	t.Helper()
	return requestOf(t, review).UID
}

// withObject is the review with another object, all else as it was.
func withObject(t *testing.T, review, object []byte) []byte {
	t.Helper()
	var r map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(review, &r))
	var q map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(r["request"], &q))
	q["object"] = object
	var err error
	r["request"], err = json.Marshal(q)
	require.NoError(t, err)
	out, err := json.Marshal(r)
	require.NoError(t, err)
	return out
}

// apply applies a patch as the API server does.
func apply(t *testing.T, object, patch []byte) []byte {
	t.Helper()
	if len(patch) == 0 {
		return object
	}
	p, err := jsonpatch.DecodePatch(patch)
	require.NoError(t, err)
	out, err := p.Apply(object)
	require.NoError(t, err, "the API server could not apply %s", patch)
	return out
}

// assertOnlyClaimNamesDiffer holds that a patched object is the original but
// for the claimNames of persistentVolumeClaim volumes and Berth's annotation.
func assertOnlyClaimNamesDiffer(t *testing.T, before, after []byte) {
	t.Helper()
	original, patched := decodeObject(t, before), decodeObject(t, after)
	written := nodePVCsAnnotation
	if original["kind"] == "PersistentVolumeClaim" {
		written = selectedNodeAnnotation
	}
	undoAnnotation(original, patched, written)
	old, now := claimVolumes(original), claimVolumes(patched)
	require.Len(t, now, len(old))
	for i := range old {
		if name, ok := old[i].source["claimName"]; ok {
			now[i].source["claimName"] = name
		}
	}
	assert.Equal(t, original, patched, "the patch changed more than claim names")
}

// undoAnnotation puts the annotations of a patched object back.
func undoAnnotation(original, patched map[string]any, written string) {
	oldMeta, hadMeta := original["metadata"].(map[string]any)
	newMeta, _ := patched["metadata"].(map[string]any)
	oldAnnotations, had := oldMeta["annotations"].(map[string]any)
	annotations, _ := newMeta["annotations"].(map[string]any)
	if annotations == nil {
		return
	}
	delete(annotations, written)
	if value, ok := oldAnnotations[written]; ok {
		annotations[written] = value
	}
	if !had && len(annotations) == 0 {
		restore(oldMeta, newMeta, "annotations")
	}
	if !hadMeta && len(newMeta) == 0 {
		restore(original, patched, "metadata")
	}
}

// restore makes a key what it was: something, null or absent.
func restore(from, to map[string]any, key string) {
	if value, ok := from[key]; ok {
		to[key] = value
	} else {
		delete(to, key)
	}
}

// claimVolume is one volume with a persistentVolumeClaim.
type claimVolume struct {
	name   string
	source map[string]any
}

func claimVolumes(pod map[string]any) []claimVolume {
	var out []claimVolume
	spec, _ := pod["spec"].(map[string]any)
	volumes, _ := spec["volumes"].([]any)
	for _, v := range volumes {
		volume, _ := v.(map[string]any)
		if source, ok := volume["persistentVolumeClaim"].(map[string]any); ok {
			name, _ := volume["name"].(string)
			out = append(out, claimVolume{name: name, source: source})
		}
	}
	return out
}

// claimNamesOf are the claimNames of a pod by volume.
func claimNamesOf(t *testing.T, raw []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, v := range claimVolumes(decodeObject(t, raw)) {
		name, _ := v.source["claimName"].(string)
		out[v.name] = name
	}
	return out
}

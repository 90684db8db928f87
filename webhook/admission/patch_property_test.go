package admission_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
)

// TestAPatchChangesClaimNamesAndTheAnnotationOnly applies every patch as the
// API server does and compares the rest, numbers as they are written.
func TestAPatchChangesClaimNamesAndTheAnnotationOnly(t *testing.T) {
	const rounds = 5000
	patched := 0
	for seed := range uint64(rounds) {
		g := rand.New(rand.NewPCG(seed, 2))
		req := create(t, randomPod(g))
		d, _ := decide(cluster(), admission.Mutate, req)
		after := apply(t, req.Object, d)
		if len(d.Patch) > 0 {
			patched++
		}
		was, is := parse(t, req.Object), parse(t, after)
		for _, o := range []any{was, is} {
			normalize(o.(map[string]any))
		}
		require.Equal(t, was, is, "seed %d: %s", seed, req.Object)
	}
	assert.GreaterOrEqual(t, patched, rounds*30/100, "too few patches to mean anything")
}

// parse reads JSON with its numbers as written.
func parse(t *testing.T, raw []byte) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return v
}

// normalize blanks what a patch may change.
func normalize(pod map[string]any) {
	if meta, ok := pod["metadata"].(map[string]any); ok {
		if a, ok := meta["annotations"].(map[string]any); ok {
			delete(a, nodePVCs)
		}
		if a, ok := meta["annotations"].(map[string]any); !ok || len(a) == 0 {
			delete(meta, "annotations")
		}
	}
	spec, _ := pod["spec"].(map[string]any)
	volumes, _ := spec["volumes"].([]any)
	for _, v := range volumes {
		if c, ok := v.(map[string]any)["persistentVolumeClaim"].(map[string]any); ok && c["claimName"] != nil {
			c["claimName"] = "blank"
		}
	}
}

// randomPod has volumes of every sort, fields that nobody knows, integers above
// 2^53 and text that needs escaping.
func randomPod(g *rand.Rand) object {
	odd := func() any {
		return []any{json.Number("9007199254740993"), json.Number("18446744073709551615"), json.Number("1e400"), "\u2028<&>\"\\", nil, object{"a/b~c": []any{true}}}[g.IntN(6)]
	}
	var volumes []any
	for i := range g.IntN(5) {
		v := object{"name": fmt.Sprint("v", i), "future": odd()}
		switch g.IntN(5) {
		case 0:
			v["emptyDir"] = object{"sizeLimit": odd()}
		case 1:
			v["ephemeral"] = object{"volumeClaimTemplate": object{"x": odd()}}
		default:
			v["persistentVolumeClaim"] = object{"claimName": []any{"model", "kernels", "scratch", "model-node-a", "unknown"}[g.IntN(5)], "readOnly": g.IntN(2) == 0, "future": odd()}
		}
		volumes = append(volumes, v)
	}
	p := podOn([]string{"node-a", "node-a", "node-b"}[g.IntN(3)], nil)
	spec, meta := p["spec"].(object), p["metadata"].(object)
	spec["volumes"], spec["future"], p["future"], meta["future"] = volumes, odd(), odd(), odd()
	switch g.IntN(4) {
	case 0:
		meta["annotations"] = nil
	case 1:
		meta["annotations"] = object{}
	case 2:
		meta["annotations"] = object{"a/b~c": "d", nodePVCs: "kernels=kernels-node-a,model=model-node-b"}
	}
	return p
}

// TestAnnotationPatchForms are the forms that an object's metadata can have.
func TestAnnotationPatchForms(t *testing.T) {
	for what, c := range map[string]struct {
		meta any
		path string
	}{
		"if there are no annotations":     {object{"name": "x"}, "/metadata/annotations"},
		"if annotations are null":         {object{"annotations": nil}, "/metadata/annotations"},
		"if annotations are empty":        {object{"annotations": object{}}, "/metadata/annotations/berth.dev~1node-pvcs"},
		"if there are others":             {object{"annotations": object{"a": "b"}}, "/metadata/annotations/berth.dev~1node-pvcs"},
		"if it is there and out of date":  {object{"annotations": object{nodePVCs: "model=old"}}, "/metadata/annotations/berth.dev~1node-pvcs"},
		"if metadata is null":             {nil, "/metadata"},
		"if metadata is an empty object":  {object{}, "/metadata/annotations"},
		"if it is there and is nonsense,": {object{"annotations": object{nodePVCs: "=,=x,,y="}}, "/metadata/annotations/berth.dev~1node-pvcs"},
	} {
		t.Run(what, func(t *testing.T) {
			p := podOn("node-a", nil, "model")
			p["metadata"] = c.meta
			req := create(t, p)
			d, _ := decide(cluster(), admission.Mutate, req)
			paths := []string{}
			for _, op := range d.Patch {
				paths = append(paths, op.Path)
			}
			assert.True(t, slices.Contains(paths, c.path), "%v", paths)
			assert.Contains(t, string(apply(t, req.Object, d)), `"berth.dev/node-pvcs":"model=model-node-a"`)
		})
	}
}

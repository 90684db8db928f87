package test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	goldenFile   = "golden.json"
	updateGolden = "UPDATE_GOLDEN"
)

// readable is an answer as goldens show it: indented, with its patch decoded.
func readable(t *testing.T, body []byte) []byte {
	t.Helper()
	answer := decodeObject(t, body)
	response, ok := answer["response"].(map[string]any)
	require.True(t, ok)
	if _, ok := response["patch"]; ok {
		var typed struct {
			Response struct {
				Patch []byte `json:"patch"`
			} `json:"response"`
		}
		require.NoError(t, json.Unmarshal(body, &typed))
		response["patch"] = json.RawMessage(typed.Response.Patch)
	}
	out, err := json.MarshalIndent(answer, "", "  ")
	require.NoError(t, err)
	return append(out, '\n')
}

// assertGolden compares an answer with the golden, or writes the golden anew.
func assertGolden(t *testing.T, f *fixture, body []byte) {
	t.Helper()
	path, got := filepath.Join(f.dir, goldenFile), readable(t, body)
	want, err := os.ReadFile(path)
	if os.Getenv(updateGolden) != "" {
		require.False(t, t.Failed(), "no golden is written of an answer that case.yaml contradicts")
		if string(want) != string(got) {
			require.NoError(t, os.WriteFile(path, got, 0o644))
			fmt.Printf("%s: golden written\n", f.slug)
		}
		return
	}
	require.NoError(t, err, "no golden: look at the answer, then run %s=1 go test ./test/", updateGolden)
	assert.Equal(t, string(want), string(got))
}

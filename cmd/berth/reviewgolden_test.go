package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReviewGoldens reviews the manifests of test/review. UPDATE_REVIEWS=1
// writes what is said.
func TestReviewGoldens(t *testing.T) {
	folders, err := filepath.Glob("../../test/review/*/input.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, input := range folders {
		folder, err := filepath.Abs(filepath.Dir(input))
		require.NoError(t, err)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Chdir(folder) // so that the output names no path
			args := append([]string{"-f", "input.yaml", "--cluster-file", "cluster.yaml"}, strings.Fields(readText(t, "args.txt"))...)
			got := review(t, "", args...)
			said := got.stdout + got.stderr + fmt.Sprintf("exit code %d\n", got.code)
			if os.Getenv("UPDATE_REVIEWS") != "" {
				require.NoError(t, os.WriteFile("output.txt", []byte(said), 0o600))
			}
			assert.Equal(t, readText(t, "output.txt"), said, "UPDATE_REVIEWS=1 go test ./cmd/berth")
		})
	}
}

// TestReviewOfTheSamples: what deploy/samples has is admitted, each file with
// the node PVCs of the other ones.
func TestReviewOfTheSamples(t *testing.T) {
	cluster := writeTestFile(t, "cluster.yaml", joinDocs(nodeYAML("node-a"), nodeYAML("node-b")))
	const samples = "../../deploy/samples/"
	for _, name := range []string{"daemonset.yaml", "deployment-pinned.yaml", "statefulset.yaml"} {
		got := review(t, "", "--cluster-file", cluster, "-f", samples+"namespace.yaml", "-f", samples+"node-pvcs-local.yaml", "-f", samples+name)
		assert.Zero(t, got.code, "%s: %s%s", name, got.stdout, got.stderr)
	}
	got := review(t, "", "--cluster-file", cluster, "-o", "json", "-f", samples)
	require.NotEqual(t, exitCantTell, got.code, got.stderr)
	for _, r := range got.results(t) {
		assert.NotEqual(t, verdictSkipped, r.Verdict, "the samples' namespace opts in: %s", r.Source)
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

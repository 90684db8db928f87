package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestToolingGoldens runs the commands of test/tooling. UPDATE_TOOLING=1 writes
// what is said.
func TestToolingGoldens(t *testing.T) {
	folders, err := filepath.Glob("../../test/tooling/*/args.txt")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	many := writeTestFile(t, "cluster.yaml", clusterOf200())
	for _, args := range folders {
		folder, err := filepath.Abs(filepath.Dir(args))
		require.NoError(t, err)
		t.Run(filepath.Base(folder), func(t *testing.T) {
			t.Chdir(folder) // so that the output names no path
			line := strings.ReplaceAll(readText(t, "args.txt"), "CLUSTER_OF_200", many)
			got := runOffline(t, "", strings.Fields(line)...)
			said := got.stdout + got.stderr + fmt.Sprintf("exit code %d\n", got.code)
			if os.Getenv("UPDATE_TOOLING") != "" {
				require.NoError(t, os.WriteFile("output.txt", []byte(said), 0o600))
			}
			assert.Equal(t, readText(t, "output.txt"), said, "UPDATE_TOOLING=1 go test ./cmd/berth")
			if strings.HasPrefix(line, "coverage") {
				assertColumns(t, got.stdout, coverageColumns)
			}
		})
	}
}

// assertColumns holds that a terminal of so many columns shows each line whole.
func assertColumns(t *testing.T, text string, columns int) {
	t.Helper()
	for line := range strings.Lines(text) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), columns, line)
	}
}

// clusterOf200 has a claim with nearly every node served, one with none, and
// names as long as a cloud gives them.
func clusterOf200() string {
	var objects []string
	for i := range 200 {
		node := fmt.Sprintf("ip-10-0-7-%d.eu-central-1.compute.internal", i)
		objects = append(objects, nodeYAML(node))
		switch {
		case i%50 == 7: // missing
		case i%40 == 3:
			objects = append(objects, nodePVCYAML("model-cache", node, "Pending"))
		case i == 100:
			objects = append(objects, nodePVCYAML("model-cache", node, "Lost"))
		default:
			objects = append(objects, nodePVCYAML("model-cache", node, "Bound"))
		}
	}
	return joinDocs(append(objects, nodePVCYAML("tokenizer", "ip-10-0-7-0.eu-central-1.compute.internal", "Bound"))...)
}

// nodePVCYAML is a node PVC in the namespace inference.
func nodePVCYAML(claim, node, phase string) string {
	return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: " + claim + "-" + node + ", namespace: inference, " +
		"labels: {berth.dev/claim: " + claim + ", berth.dev/node: " + node + "}}, status: {phase: " + phase + "}}"
}

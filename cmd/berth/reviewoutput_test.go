package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReviewText(t *testing.T) {
	in := joinDocs(namespaceYAML("lab", "berth.dev/admission: enabled"), workloadYAML("apps/v1", "DaemonSet", "reader", ""), workloadYAML("apps/v1", "Deployment", "chat", ""),
		podYAML("p", "rome"), strings.Replace(podYAML("q", ""), "name: q", "name: q, namespace: late", 1))
	got := review(t, in, "-f", "-", "-n", "lab", "--cluster-file", labCluster(t))
	assert.Equal(t, 1, got.code)
	assert.Equal(t, `stdin:1  Namespace   lab         admitted
stdin:2  DaemonSet   lab/reader  admitted
    warning: claim "weights" is not ready on 1 of 2 nodes: oslo (Missing)
    NODE  CLAIM    STATE    POD
    oslo  weights  Missing  waits for weights-oslo
    rome  weights  Ready    mounts weights-rome
stdin:3  Deployment  lab/chat    refused    422 NotPinned
    Deployment "chat" mounts node-local claim "weights" (volume "data"), but its pods get a node
    only after admission, so no node's PVC can be chosen. Use a DaemonSet, or pin the template:
    nodeSelector kubernetes.io/hostname. Nodes that hold this claim: rome.
stdin:4  Pod         lab/p       rewritten
    volume data: weights -> weights-rome
stdin:5  Pod         late/q      skipped
    namespace "late" is not opted in: it lacks the label berth.dev/admission: enabled
`, got.stdout)
}

func TestReviewTextFitsATerminal(t *testing.T) {
	var b strings.Builder
	wrap(&b, reviewColumns, "    ", "warning: ", strings.Repeat("word ", 60)+strings.Repeat("x", 120)+" end")
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	require.Len(t, lines, 6)
	assert.True(t, strings.HasPrefix(lines[0], "    warning: word"))
	for i, line := range lines[:4] {
		assert.LessOrEqual(t, len(line), reviewColumns, line)
		assert.Equal(t, i == 0, strings.Contains(line, "warning"), line)
	}
	assert.Equal(t, strings.Repeat(" ", 13)+strings.Repeat("x", 120), lines[4], "a long word stays whole")
	assert.Equal(t, strings.Repeat(" ", 13)+"end", lines[5])
}

func TestReviewHelpIsReadable(t *testing.T) {
	got := review(t, "", "--help")
	require.Zero(t, got.code)
	for _, title := range []string{"Input and output:", "Cluster (", "Rules, as the webhook's:"} {
		assert.Contains(t, got.stdout, "\n"+title)
	}
	for line := range strings.Lines(got.stdout) {
		assert.LessOrEqual(t, len(line), 101, line)
	}
}

func TestReviewOfNothingIsAnEmptyList(t *testing.T) {
	got := review(t, "", "-f", "-", "-o", "json")
	assert.Equal(t, 2, got.code)
	assert.Equal(t, "[]\n", got.stdout)
}

func TestReviewTextCantBeForged(t *testing.T) {
	var out strings.Builder
	require.NoError(t, printText(&out, []*reviewResult{{Source: "a.yaml:1", Kind: "Pod", Namespace: "ml", Name: "x\x1b[31m\nb.yaml:9  Pod  ml/ok  admitted", Verdict: verdictAdmitted}}))
	assert.Equal(t, 1, strings.Count(out.String(), "\n"), "one object, one line")
	assert.NotContains(t, out.String(), "\x1b")
}

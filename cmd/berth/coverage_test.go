package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/claim"
)

// covered is what coverage says in JSON.
func covered(t *testing.T, got reviewed) []claimCoverage {
	t.Helper()
	var out []claimCoverage
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &out), got.stdout+got.stderr)
	return out
}

func TestCoverageBadUsage(t *testing.T) {
	cases := map[string]struct {
		args []string
		want []string
	}{
		"a selector that is none": {[]string{"-l", "a in b"}, []string{"--selector: "}},
		"everything at once": {[]string{"-A", "-n", "x", "-o", "yaml", "--claim", "a b", "--populated-annotation", "p"}, []string{
			"--all-namespaces: can't be given together with --namespace", `--claim: "a b" is no label value`, `--output: "yaml" must be table or json`, "--populated-annotation: ",
		}},
		"all namespaces of a DaemonSet":                     {[]string{"-A", "-f", "x"}, []string{"--all-namespaces: has no meaning with --filename"}},
		"standard input twice":                              {[]string{"-f", "-", "-f", "-"}, []string{"--filename: standard input can be read only once"}},
		"a flag of the webhook's that changes nothing here": {[]string{"--missing-node-pvc=deny"}, []string{"unknown flag: --missing-node-pvc"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := runOffline(t, "", append([]string{"coverage"}, tc.args...)...)
			assert.Equal(t, 2, got.code)
			assert.Empty(t, got.stdout)
			lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
			require.Len(t, lines, len(tc.want)+1, got.stderr)
			for i, want := range tc.want {
				assert.Contains(t, lines[i], "berth coverage: "+want)
			}
		})
	}
}

func TestCoverageExitCodes(t *testing.T) {
	node, twin := nodeYAML("rome"), strings.Replace(nodePVCYAML("weights", "rome", "Bound"), "weights-rome", "copy", 1)
	pvc := func(phase string) string { return nodePVCYAML("weights", "rome", phase) }
	cases := map[string]struct {
		cluster []string
		args    []string
		code    int
		state   claim.State
		stderr  string
	}{
		"ready":                        {cluster: []string{node, pvc("Bound")}, state: claim.StateReady},
		"pending is waited for":        {cluster: []string{node, pvc("Pending")}, state: claim.StatePending},
		"unfilled is waited for":       {cluster: []string{node, pvc("Bound")}, args: []string{"--populated-required"}, state: claim.StateUnfilled},
		"lost":                         {cluster: []string{node, pvc("Lost")}, code: 1, state: claim.StateLost},
		"ambiguous":                    {cluster: []string{node, pvc("Bound"), twin}, code: 1, state: claim.StateAmbiguous},
		"another node's volume":        {cluster: []string{node, strings.Replace(boundPVC("rome"), "values: [rome]", "values: [oslo]", 1)}, args: []string{"-n", "lab"}, code: 1, state: claim.StateReady},
		"missing":                      {cluster: []string{node, nodePVCYAML("weights", "oslo", "Bound")}, code: 1, state: claim.StateMissing},
		"asked for, and nobody has it": {cluster: []string{node}, args: []string{"--claim", "weights"}, code: 1, state: claim.StateMissing},
		"asked for in all namespaces":  {cluster: []string{node}, args: []string{"--claim", "weights", "-A", "-n", ""}, code: 1, state: claim.StateMissing},
		"no claim":                     {cluster: []string{node}, stderr: "berth coverage: no node PVC in namespace \"inference\"\n"},
		"no claim anywhere":            {cluster: []string{node}, args: []string{"-A", "-n", ""}, stderr: "berth coverage: no node PVC in any namespace\n"},
		"a claim that is not asked for is no one": {cluster: []string{node, nodePVCYAML("other", "rome", "Lost"), pvc("Bound")}, args: []string{"--claim", "weights"}, state: claim.StateReady},
		"a node that is not selected is none":     {cluster: []string{node, nodeYAML("oslo"), pvc("Bound")}, args: []string{"-l", "kubernetes.io/hostname=rome"}, state: claim.StateReady},
		"keys of another operator": {
			cluster: []string{node, strings.NewReplacer("berth.dev/claim", "cache-name", "berth.dev/node", "node").Replace(pvc("Bound"))},
			args:    []string{"--preset", "gkm"}, state: claim.StateReady,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := writeTestFile(t, "cluster.yaml", joinDocs(tc.cluster...))
			args := append([]string{"coverage", "-o", "json", "--cluster-file", file, "-n", "inference"}, tc.args...)
			got := runOffline(t, "", args...)
			assert.Equal(t, tc.code, got.code, got.stdout)
			assert.Equal(t, tc.stderr, got.stderr)
			found := covered(t, got)
			if tc.state == "" {
				assert.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Len(t, found[0].Places, 1)
			assert.Equal(t, tc.state, found[0].Places[0].State)
			assert.Equal(t, 1, found[0].States[tc.state])
			assert.Len(t, found[0].States, 7, "each state is there")
		})
	}
}

// TestCoverageJSONIsWhole: the table is cut, JSON is not.
func TestCoverageJSONIsWhole(t *testing.T) {
	file := writeTestFile(t, "cluster.yaml", clusterOf200())
	found := covered(t, runOffline(t, "", "coverage", "-o", "json", "-n", "inference", "--cluster-file", file))
	require.Len(t, found, 2)
	for _, c := range found {
		require.Len(t, c.Places, 200)
		sum := 0
		for _, n := range c.States {
			sum += n
		}
		assert.Equal(t, 200, sum)
	}
	assert.Equal(t, 199, found[1].States[claim.StateMissing])
}

func TestCoverageOfDaemonSets(t *testing.T) {
	cluster := []string{nodeYAML("rome"), nodeYAML("oslo"), boundPVC("rome")}
	daemonSet := workloadYAML("apps/v1", "DaemonSet", "d", "")
	cases := map[string]struct {
		in     string
		args   []string
		code   int
		want   string // node state, of each place
		stderr string
	}{
		"each of its nodes":          {in: daemonSet, code: 1, want: "oslo Missing, rome Ready"},
		"those that it selects":      {in: workloadYAML("apps/v1", "DaemonSet", "d", "rome"), want: "rome Ready"},
		"those that are selected":    {in: daemonSet, args: []string{"-l", "kubernetes.io/hostname!=oslo"}, want: "rome Ready"},
		"OpenKruise's, too":          {in: workloadYAML("apps.kruise.io/v1alpha1", "DaemonSet", "d", ""), code: 1, want: "oslo Missing, rome Ready"},
		"a claim that it mounts not": {in: daemonSet, args: []string{"--claim", "other"}, stderr: "mounts no node-local claim"},
		"a Deployment":               {in: workloadYAML("apps/v1", "Deployment", "d", ""), code: 2, stderr: "no DaemonSet in the input"},
		"no object":                  {in: "text", code: 2, stderr: "not a Kubernetes object"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := writeTestFile(t, "cluster.yaml", joinDocs(cluster...))
			got := runOffline(t, tc.in, append([]string{"coverage", "-o", "json", "-f", "-", "-n", "lab", "--cluster-file", file}, tc.args...)...)
			assert.Equal(t, tc.code, got.code, got.stdout)
			assert.Contains(t, got.stderr, tc.stderr)
			if tc.code == 2 {
				assert.Empty(t, got.stdout)
				return
			}
			var places []string
			for _, c := range covered(t, got) {
				assert.Equal(t, "DaemonSet/d", c.Workload)
				for _, p := range c.Places {
					places = append(places, fmt.Sprintf("%s %s", p.Node, p.State))
				}
			}
			assert.Equal(t, tc.want, strings.Join(places, ", "))
		})
	}
}

// TestCoverageSummaryWraps: with every state at once the summary stays readable.
func TestCoverageSummaryWraps(t *testing.T) {
	c := &claimCoverage{Namespace: "inference", Claim: "model-cache", States: map[claim.State]int{}}
	for _, s := range claim.States() {
		c.States[s] = 1000
	}
	var out strings.Builder
	require.NoError(t, printCoverage(&out, []*claimCoverage{c}, true))
	assertColumns(t, out.String(), coverageColumns)
	for _, s := range claim.States() {
		if s != claim.StateReady {
			assert.Contains(t, strings.Join(strings.Fields(out.String()), " "), fmt.Sprintf("1000 %s", s))
		}
	}
}

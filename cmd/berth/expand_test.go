package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// templateYAML is a PVC to make node PVCs from.
func templateYAML(metadata, spec string) string {
	return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {" + metadata + "}, spec: {" + spec + "}}"
}

func nodesFile(t *testing.T, names ...string) string {
	t.Helper()
	var nodes []string
	for _, name := range names {
		nodes = append(nodes, nodeYAML(name))
	}
	return writeTestFile(t, "cluster.yaml", joinDocs(nodes...))
}

// expanded are the PVCs that expand printed.
func expanded(t *testing.T, got reviewed) []*manifest {
	t.Helper()
	require.Zero(t, got.code, got.stderr)
	out, errs := readManifests([]byte(got.stdout), "expanded")
	require.Empty(t, errs)
	return out
}

func TestExpandClaimAndNamespace(t *testing.T) {
	cases := map[string]struct {
		template  string
		args      []string
		name      string
		claim     string
		namespace string
	}{
		"the claim is the template's name":         {template: "name: weights", name: "weights-rome", claim: "weights"},
		"or its claim label":                       {template: "name: x, labels: {berth.dev/claim: weights}", name: "weights-rome", claim: "weights"},
		"or what --claim says":                     {template: "name: x, labels: {berth.dev/claim: other}", args: []string{"--claim", "weights"}, name: "weights-rome", claim: "weights"},
		"a template may have a generateName":       {template: "generateName: x-, labels: {berth.dev/claim: weights}", name: "weights-rome", claim: "weights"},
		"the template's namespace is kept":         {template: "name: weights, namespace: lab", args: []string{"-n", "other"}, name: "weights-rome", claim: "weights", namespace: "lab"},
		"else it is that of -n":                    {template: "name: weights", args: []string{"-n", "other"}, name: "weights-rome", claim: "weights", namespace: "other"},
		"a revision of the template's is in names": {template: "name: weights, labels: {berth.dev/revision: v7}", args: []string{"--node-pvc-name-template", "{claim}-{revision}-{node}"}, name: "weights-v7-rome", claim: "weights"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := expanded(t, runOffline(t, templateYAML(tc.template, ""), append([]string{"expand", "-f", "-", "--cluster-file", nodesFile(t, "rome")}, tc.args...)...))
			require.Len(t, got, 1)
			head := got[0].head.Metadata
			assert.Equal(t, tc.name, head.Name)
			assert.Equal(t, tc.claim, head.Labels["berth.dev/claim"])
			assert.Equal(t, "rome", head.Labels["berth.dev/node"])
			assert.Equal(t, tc.namespace, head.Namespace)
			assert.Empty(t, head.GenerateName)
		})
	}
}

// TestExpandIsDeterministic: the order of Nodes in the cluster is no matter,
// nor how a template got there.
func TestExpandIsDeterministic(t *testing.T) {
	template := templateYAML("name: weights", "storageClassName: fast, unknown: {size: 9007199254740993}")
	first := runOffline(t, template, "expand", "-f", "-", "--cluster-file", nodesFile(t, "c", "a", "b"))
	second := runOffline(t, template, "expand", "-f", "-", "--cluster-file", nodesFile(t, "b", "c", "a"))
	assert.Equal(t, first.stdout, second.stdout)
	assert.Equal(t, 3, strings.Count(first.stdout, "size: 9007199254740993"), "what Berth does not know stays")
	for _, theirs := range []string{"status", "creationTimestamp", "null", "selected-node", "annotations"} {
		assert.NotContains(t, first.stdout, theirs)
	}
	again := runOffline(t, first.stdout, "expand", "-f", "-", "--cluster-file", nodesFile(t, "a"))
	assert.Equal(t, 1, again.code, "node PVCs are no templates of one claim: three of node a would have one name")
}

// TestExpandedIsWhatReviewSays: node PVCs that expand makes are those that the
// webhook rewrites a DaemonSet's pods to, before and after they exist.
func TestExpandedIsWhatReviewSays(t *testing.T) {
	nodes := nodesFile(t, "rome", "oslo")
	made := runOffline(t, templateYAML("name: weights, namespace: lab", ""), "expand", "-f", "-", "--cluster-file", nodes)
	pvcs := expanded(t, made)
	require.Len(t, pvcs, 2)
	for _, m := range pvcs {
		node := m.head.Metadata.Labels["berth.dev/node"]
		pod := strings.Replace(podYAML("p", node), "name: p", "name: p, annotations: {berth.dev/node-local-claims: weights}", 1)
		for _, in := range []string{pod, joinDocs(made.stdout, pod)} {
			results := review(t, in, "-f", "-", "-n", "lab", "-o", "json", "--cluster-file", nodes).results(t)
			last := results[len(results)-1]
			require.Equal(t, verdictRewritten, last.Verdict, last.Message)
			assert.Equal(t, m.name(), last.Claims[0].PVC)
		}
	}
}

func TestExpandFailures(t *testing.T) {
	cases := map[string]struct {
		in   string
		args []string
		code int
		says string
	}{
		"no file":                    {code: 2, args: []string{"-f", "missing.yaml"}, says: "can't read "},
		"another kind":               {in: podYAML("p", ""), code: 2, says: `stdin:1: Pod "p" is no PersistentVolumeClaim`},
		"another kind beside a PVC":  {in: joinDocs(templateYAML("name: x", ""), podYAML("p", "")), code: 2, says: "stdin:2: "},
		"no object":                  {in: "text", code: 2, says: "not a Kubernetes object"},
		"labels that are none":       {in: templateYAML("name: x, labels: {a: 1}", ""), code: 2, says: "stdin:1: "},
		"no Node":                    {in: templateYAML("name: x", ""), args: []string{"-l", "gpu"}, code: 1, says: `no Node matches --selector "gpu" (of 2)`},
		"a name too long":            {in: templateYAML("name: x, labels: {berth.dev/claim: X}", ""), code: 1, says: `node "oslo": "X-oslo" can't name a PVC`},
		"two templates of one claim": {in: joinDocs(templateYAML("name: x", ""), templateYAML("name: z", "")), args: []string{"--claim", "z"}, code: 1, says: `PVC "z-oslo" would be claim "z"`},
		"one volume for all":         {in: templateYAML("name: x", "volumeName: pv"), code: 1, says: "spec.volumeName"},
		"no name template":           {in: templateYAML("name: x", ""), args: []string{"--preset", "gkm"}, code: 2, says: "--node-pvc-name-template: is empty"},
		"a format that is none":      {in: templateYAML("name: x", ""), args: []string{"-o", "table"}, code: 2, says: `--output: "table" must be yaml or json`},
		"a claim that is none":       {in: templateYAML("name: x", ""), args: []string{"--claim", "a b"}, code: 2, says: "--claim: "},
		"a selector that is none":    {in: templateYAML("name: x", ""), args: []string{"-l", "a in b"}, code: 2, says: "--selector: "},
		"prune where no Node is":     {in: templateYAML("name: x", ""), args: []string{"--prune", "-l", "gpu"}, code: 1, says: "no Node matches"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"expand", "--cluster-file", nodesFile(t, "rome", "oslo")}, tc.args...)
			if tc.in != "" {
				args = append(args, "-f", "-")
			}
			got := runOffline(t, tc.in, args...)
			assert.Equal(t, tc.code, got.code, got.stderr)
			assert.Empty(t, got.stdout, "nothing goes on to kubectl apply")
			assert.Contains(t, got.stderr, "berth expand: ")
			assert.Contains(t, got.stderr, tc.says)
		})
	}
	t.Run("no input", func(t *testing.T) {
		got := runOffline(t, "", "expand")
		assert.Equal(t, 2, got.code)
		assert.Contains(t, got.stderr, "--filename: is missing")
	})
}

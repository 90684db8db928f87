package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExpandReadsNodesOnly(t *testing.T) {
	s := newObjectServer(t, "", labObjects()...)
	got := runOffline(t, templateYAML("name: weights", ""), "expand", "-f", "-", "--server", s.URL)
	assert.Len(t, expanded(t, got), 2)
	assert.Equal(t, []string{"/api/v1/nodes"}, s.paths)
}

func TestExpandRespectsTaints(t *testing.T) {
	tainted := func(name, effect string) string {
		return strings.TrimSuffix(nodeYAML(name), "}") + ", spec: {taints: [{key: k, effect: " + effect + "}]}}"
	}
	nodes := []string{nodeYAML("a"), tainted("b", "NoSchedule"), tainted("c", "NoExecute"), tainted("d", "PreferNoSchedule")}
	file := writeTestFile(t, "cluster.yaml", joinDocs(nodes...))
	all := expanded(t, runOffline(t, templateYAML("name: w", ""), "expand", "-f", "-", "--cluster-file", file))
	assert.Len(t, all, 4)
	got := runOffline(t, templateYAML("name: w", ""), "expand", "-f", "-", "--cluster-file", file, "--respect-taints")
	var names []string
	for _, m := range expanded(t, got) {
		names = append(names, m.name())
	}
	assert.Equal(t, []string{"w-a", "w-d"}, names)
	assert.Equal(t, "berth expand: left out for their taints: b, c\n", got.stderr)

	none := runOffline(t, templateYAML("name: w", ""), "expand", "-f", "-", "--cluster-file", file, "--respect-taints", "-l", "kubernetes.io/hostname=b")
	assert.Equal(t, 1, none.code)
	assert.Contains(t, none.stderr, "each of the 1 Nodes has a NoSchedule or NoExecute taint")
}

func TestExpandPrune(t *testing.T) {
	objects := append(labObjects(), boundPVC("gone"), strings.ReplaceAll(boundPVC("gone"), "namespace: lab", "namespace: late"))
	cases := map[string]struct {
		args   []string
		want   []string
		stderr string
	}{
		"PVCs of a node that is gone": {want: []string{"lab/weights-gone"}, stderr: `PVC lab/weights-gone: node "gone" does not exist`},
		"and of one that is not selected": {
			args: []string{"-l", "kubernetes.io/hostname=oslo"}, want: []string{"lab/weights-gone", "lab/weights-rome"}, stderr: `PVC lab/weights-rome: node "rome" is not selected`,
		},
		"in JSON":                    {args: []string{"-o", "json"}, want: []string{"lab/weights-gone"}},
		"of another claim, none":     {args: []string{"--claim", "other"}, stderr: "nothing to prune"},
		"names need no template":     {args: []string{"--node-pvc-name-template", ""}, want: []string{"lab/weights-gone"}},
		"a revision is no selection": {args: []string{"--revision", "v2"}, want: []string{"lab/weights-gone"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newObjectServer(t, "", objects...)
			args := append([]string{"expand", "-f", "-", "-n", "lab", "--prune", "--server", s.URL}, tc.args...)
			got := runOffline(t, templateYAML("name: weights", ""), args...)
			require.Zero(t, got.code, got.stderr)
			var names []string
			for _, m := range expanded(t, got) {
				assert.True(t, m.isPVC())
				names = append(names, m.head.Metadata.Namespace+"/"+m.name())
			}
			assert.Equal(t, tc.want, names)
			assert.Contains(t, got.stderr, tc.stderr)
		})
	}
	t.Run("a tainted node keeps its PVCs", func(t *testing.T) {
		cordoned := strings.TrimSuffix(nodeYAML("rome"), "}") + ", spec: {taints: [{key: k, effect: NoSchedule}]}}"
		file := writeTestFile(t, "cluster.yaml", joinDocs(cordoned, boundPVC("rome")))
		got := runOffline(t, templateYAML("name: weights, namespace: lab", ""), "expand", "-f", "-", "--prune", "--respect-taints", "--cluster-file", file)
		assert.Zero(t, got.code)
		assert.Empty(t, got.stdout)
	})
	t.Run("PVCs that can't be read are no PVCs that are gone", func(t *testing.T) {
		s := newObjectServer(t, "persistentvolumeclaims", objects...)
		got := runOffline(t, templateYAML("name: weights", ""), "expand", "-f", "-", "--prune", "--server", s.URL)
		assert.Equal(t, 2, got.code)
		assert.Empty(t, got.stdout)
	})
}

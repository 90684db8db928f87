package lookup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

const clusterYAML = `# what kubectl get -o yaml writes, and more
---
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {berth.dev/admission: enabled}}
--- # a comment at the marker
apiVersion: v1
kind: Node
metadata:
  name: node-a
  labels: {kubernetes.io/hostname: host-a}
status: {unknownToUs: {deep: [1, 2]}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
...
---
# nothing but a comment
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata:
    name: x-node-a
    namespace: ml
    creationTimestamp: 2025-03-02T09:00:00Z
    labels: {berth.dev/claim: x, berth.dev/node: node-a}
  spec: {volumeName: pv-a, storageClassName: local}
  status: {phase: Bound}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: elsewhere}
- apiVersion: v1
  kind: List
  items:
  - apiVersion: v1
    kind: PersistentVolume
    metadata: {name: pv-a}
    spec:
      storageClassName: local
      nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [host-a]}]}]}}
  - {apiVersion: apps/v1, kind: DaemonSet, metadata: {name: vllm}}
---
apiVersion: v1
kind: PodList
items: [{metadata: {name: p}}, {metadata: {name: q}}]
---
apiVersion: example.com/v1
kind: AllowList
metadata: {name: not-a-list}
`

func readCluster(text string) (*Cluster, error) {
	rules := claim.DefaultRules()
	return ReadCluster(strings.NewReader(text), "c.yaml", &rules)
}

func TestReadCluster(t *testing.T) {
	for name, text := range map[string]string{
		"as it is":                      clusterYAML,
		"with the line ends of Windows": strings.ReplaceAll(clusterYAML, "\n", "\r\n"),
		"with a byte order mark":        "\ufeff" + clusterYAML,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := readCluster(text)
			require.NoError(t, err)
			view := c.Store.View()
			assert.Equal(t, map[string]map[string]string{"ml": {"berth.dev/admission": "enabled"}}, c.Namespaces)
			assert.Equal(t, map[string]int{"DaemonSet": 1, "Pod": 2, "AllowList": 1}, c.Skipped)
			assert.Len(t, view.NodesByLabel(corev1.LabelHostname, "host-a"), 1)
			assert.True(t, view.StorageClass("local").WaitForFirstConsumer)
			assert.Equal(t, []string{"node-a"}, view.Holders("ml", "x"))
			assert.Equal(t, &claim.PVC{
				Namespace: "ml", Name: "x-node-a", Claim: "x", Node: "node-a", Phase: corev1.ClaimBound,
				VolumeName: "pv-a", StorageClass: "local", Created: 1740906000,
			}, view.PVC("ml", "x-node-a"))
			assert.NotNil(t, view.PVC("default", "elsewhere"), "no namespace is default, as for kubectl")
			assert.Equal(t, hostnameAffinity("host-a"), view.PV("pv-a").Affinity)
		})
	}
}

func TestReadClusterTakesJSONAndTypedLists(t *testing.T) {
	for name, text := range map[string]string{
		"one object": `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`,
		"a typed list whose items have no kind": `{"apiVersion":"v1","kind":"NodeList","metadata":{"resourceVersion":"7"},
			"items":[{"metadata":{"name":"a"}}]}`,
		"several values": `{"apiVersion":"v1","kind":"PersistentVolumeClaimList","items":null}{"apiVersion":"v1","kind":"NodeList"}
			{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`,
		"JSON between YAML":         "kind: NodeList\napiVersion: v1\n---\n{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}}\n---\n",
		"YAML in braces":            `{apiVersion: v1, kind: Node, metadata: {name: a}}`,
		"on the line of the marker": "--- {apiVersion: v1, kind: Node, metadata: {name: a}}",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := readCluster(text)
			require.NoError(t, err)
			assert.NotNil(t, c.Store.View().Node("a"))
		})
	}
}

func TestReadClusterOfNothing(t *testing.T) {
	for _, text := range []string{"", "\n---\n# nothing\n---\n", "apiVersion: v1\nkind: List\nitems: []\n"} {
		c, err := readCluster(text)
		require.NoError(t, err, text)
		assert.Empty(t, c.Namespaces)
		assert.Empty(t, c.Skipped)
	}
}

func TestReadClusterSaysWhatIsWrongAndWhere(t *testing.T) {
	const node = "{apiVersion: v1, kind: Node, metadata: {name: a}}\n"
	for name, test := range map[string]struct{ text, want string }{
		"a missing name":        {"---\n" + node + "---\n{apiVersion: v1, kind: Node, metadata: {generateName: a-}}", `c.yaml: document 2: Node has no metadata.name`},
		"an unknown version":    {"{apiVersion: v2, kind: Node, metadata: {name: a}}", `c.yaml: document 1: Node "a" has apiVersion "v2": only v1 can be read`},
		"a missing version":     {"{kind: StorageClass, metadata: {name: a}}", `c.yaml: document 1: StorageClass "a" has apiVersion "": only storage.k8s.io/v1 can be read`},
		"the same object twice": {node + "---\n# empty\n---\n" + node, `c.yaml: document 2: Node "a" stands in document 1 already`},
		"the same PVC twice, once by default": {"{apiVersion: v1, kind: PersistentVolumeClaimList, items: [{metadata: {name: p}}, {metadata: {name: p, namespace: default}}]}",
			`c.yaml: document 1, item 2: PersistentVolumeClaim "p" in namespace "default" stands in document 1, item 1 already`},
		"the same Namespace twice": {"{apiVersion: v1, kind: NamespaceList, items: [{metadata: {name: p}}, {metadata: {name: p}}]}",
			`c.yaml: document 1, item 2: Namespace "p" stands in document 1, item 1 already`},
		"a field of the wrong type": {"{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}, spec: {storageClassName: [x]}}",
			`c.yaml: document 1: PersistentVolume "a" cannot be decoded: json: cannot unmarshal array into Go struct field PersistentVolumeSpec.spec.storageClassName of type string`},
		"an annotation that is no string": {"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a, annotations: {berth.dev/populated: true}}}",
			`c.yaml: document 1: PersistentVolumeClaim cannot be decoded: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.annotations of type string`},
		"no kind":                   {"{apiVersion: v1, metadata: {name: a}}", `c.yaml: document 1: not a Kubernetes object: it has no kind`},
		"no object":                 {node + "---\n- a\n- b\n", `c.yaml: document 2: not a Kubernetes object`},
		"an item that is no object": {"{apiVersion: v1, kind: List, items: [3]}", `c.yaml: document 1, item 1: not a Kubernetes object`},
		"items that are no array":   {"{apiVersion: v1, kind: List, items: {a: b}}", `c.yaml: document 1: List has items that are no array`},
		"no YAML":                   {node + "---\na: [\n", `c.yaml: document 2: not YAML: line 2: did not find expected node content`},
		"a key twice":               {"apiVersion: v1\nkind: Node\nkind: Node\n", `c.yaml: document 1: not YAML: unmarshal errors: line 3: key "kind" already set in map`},
		"JSON that breaks off":      {`{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}} {"apiVersion":`, `c.yaml: document 2: not JSON: unexpected EOF`},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := readCluster(test.text)
			require.EqualError(t, err, test.want)
			assert.Nil(t, c)
		})
	}
}

func TestReadClusterFile(t *testing.T) {
	rules := claim.DefaultRules()
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	_, err := ReadClusterFile(path, &rules)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "cannot read the cluster file: open "+path)
	require.NoError(t, os.WriteFile(path, []byte(clusterYAML), 0o600))
	c, err := ReadClusterFile(path, &rules)
	require.NoError(t, err)
	assert.NotNil(t, c.Store.View().Node("node-a"))
	require.NoError(t, os.WriteFile(path, []byte("kind: 3"), 0o600))
	_, err = ReadClusterFile(path, &rules)
	require.ErrorContains(t, err, path+": document 1: not a Kubernetes object: ")
	_, err = ReadCluster(iotest.ErrReader(errors.New("gone")), "stdin", &rules)
	require.EqualError(t, err, "cannot read stdin: gone")
}

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Digests of two images; GPU Kernel Manager drops the prefix and cuts the rest to 60
// characters, so that it fits a label.
var (
	firstDigest  = "sha256:" + strings.Repeat("a1b2c3d4", 8)
	secondDigest = "sha256:" + strings.Repeat("99887766", 8)
)

// TestGPUKernelManager is one test, for one installation of Berth with the preset.
func TestGPUKernelManager(t *testing.T) {
	newNamespaceLabelled(t, nil).installBerthForGKM()
	for sentence, test := range map[string]func(*testing.T, *namespace){
		"node PVCs are provisioned before any pod, Jobs fill them, and a DaemonSet reads them":     testKernelsAreFilledAndRead,
		"a pod gets the serving PVC only while there is no node PVC":                               testServingPVC,
		"a Job that fills runs to its end, pinned or not":                                          testFillJobs,
		"a second digest leaves what runs alone, and the first can be asked for":                   testSecondDigest,
		"a claim of the namespace and one of the cluster with the same name are refused with both": testTwoScopes,
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test(t, newNamespace(t))
		})
	}
}

func testKernelsAreFilledAndRead(t *testing.T, n *namespace) {
	n.servingPVC()
	for _, node := range bothNodes() {
		pvc := n.kernels(node, firstDigest, n.name)
		assert.Equal(t, node, n.annotationOf(pvc, selectedNode))
		n.fillKernels(pvc, "the kernels of "+node, map[string]string{corev1.LabelHostname: node})
	}
	n.apply(daemonSet(reader("kernels")))
	for _, pod := range n.awaitPods(2) {
		assert.Equal(t, "the kernels of "+pod.Spec.NodeName, n.read(pod.Name))
	}
}

func testServingPVC(t *testing.T, n *namespace) {
	n.servingPVC()
	n.apply(pod("early", onHost(reader("kernels"), "node-a")))
	assert.Equal(t, "kernels", mounted(n.pod("early"), "cache"))
	pvc := n.kernels("node-a", firstDigest, n.name)
	n.apply(pod("late", onHost(reader("kernels"), "node-a")))
	assert.Equal(t, pvc, mounted(n.pod("late"), "cache"))
	out := n.refused(pod("elsewhere", onHost(reader("kernels"), "node-b")))
	assert.Contains(t, out, `node "node-b" has no PVC for it (it can't wait for one: names of node PVCs are not predictable here). Create one labelled cache-name=kernels, node=node-b`)
	n.assertReadOn(*n.awaitReady("late"), "node-a")
}

// testFillJobs: the operator pins its Jobs by hostname, but the nodeSelector of a
// podTemplate takes that one's place, so a Job may be pinned by its PVC alone.
func testFillJobs(t *testing.T, n *namespace) {
	for node, nodeSelector := range map[string]map[string]string{
		"node-a": {corev1.LabelHostname: "node-a"},
		"node-b": {corev1.LabelOSStable: "linux"},
	} {
		pvc := n.kernels(node, firstDigest, n.name)
		filler := n.fillKernels(pvc, "filled on "+node, nodeSelector)
		assert.Equal(t, node, filler.Spec.NodeName)
		assert.Equal(t, pvc, mounted(&filler, "cache"))
		name := "reader-" + node
		n.apply(pod(name, onHost(reader("kernels"), node)))
		assert.Equal(t, "filled on "+node, n.read(n.awaitReady(name).Name))
	}
}

func testSecondDigest(t *testing.T, n *namespace) {
	first := n.kernels("node-a", firstDigest, n.name)
	n.fillKernels(first, "the first digest", nil)
	n.apply(pod("running", onHost(reader("kernels"), "node-a")))
	running := n.awaitReady("running")

	second := n.kernels("node-a", secondDigest, n.name)
	n.fillKernels(second, "the second digest", nil)
	out := n.apply(pod("new", onHost(reader("kernels"), "node-a")))
	assert.Contains(t, out, fmt.Sprintf("Warning: claim %q has 2 revisions here; took PVC %q, revision %q", "kernels", second, secondDigest[7:19]+"…"))
	asks := onHost(reader("kernels"), "node-a")
	asks.Annotations = map[string]string{"berth.dev/revision": firstDigest}
	n.apply(pod("asks", asks))

	assert.Equal(t, "the second digest", n.read(n.awaitReady("new").Name))
	assert.Equal(t, "the first digest", n.read(n.awaitReady("asks").Name))
	still := n.awaitReady("running")
	assert.Equal(t, running.UID, still.UID)
	assert.Zero(t, still.Status.ContainerStatuses[0].RestartCount)
	assert.Equal(t, first, mounted(still, "cache"))
	assert.Equal(t, "the first digest", n.read("running"))
}

// testTwoScopes: the PVCs of a cluster-wide cache have an empty cache-namespace.
func testTwoScopes(t *testing.T, n *namespace) {
	own := n.kernels("node-a", firstDigest, n.name)
	clusterWide := n.kernels("node-a", firstDigest, "")
	out := n.refused(pod("reader", onHost(reader("kernels"), "node-a")))
	assert.Contains(t, out, `node "node-a" has PVCs of different scope for it: `)
	assert.Contains(t, out, fmt.Sprintf(`%s (scope %q)`, own, n.name))
	assert.Contains(t, out, clusterWide+` (scope "")`)
	assert.Contains(t, out, "Rename one of the claims, or give each a namespace of its own.")
	assert.Empty(t, n.pods())
	// What names a PVC itself is not in doubt: the cache can still be filled.
	n.fillKernels(clusterWide, "the cluster's", nil)
}

// kernels makes a node PVC of the cache "kernels" as the operator does, with a name
// that nothing follows from, and returns that once the PVC is bound.
func (n *namespace) kernels(node, digest, scope string) string {
	n.t.Helper()
	pvc := provisionedPVC("", "")
	pvc.Name = fmt.Sprintf("kernels-%08x", rand.Uint32())
	pvc.Labels = map[string]string{
		"cache-name": "kernels", "cache-namespace": scope, "pvc-namespace": n.name, "node": node,
		"digest": strings.TrimPrefix(digest, "sha256:")[:60], "pv-name": "",
	}
	n.apply(pvc)
	n.awaitPhase(pvc.Name, corev1.ClaimBound)
	return pvc.Name
}

// servingPVC makes the PVC that the operator's own pods use: it has the cache's name
// and is no node's.
func (n *namespace) servingPVC() {
	n.t.Helper()
	pvc := nodePVC("", "")
	pvc.Name = "kernels"
	pvc.Labels = map[string]string{"cache-name": "kernels", "cache-namespace": n.name, "pvc-namespace": n.name, "node": "", "digest": firstDigest[7:67]}
	pvc.Spec.VolumeName = n.localVolume("node-a", "kernels", "nobody's bytes").Name
	n.bound(pvc)
}

// fillKernels runs a Job that mounts the node PVC itself, as the operator's do, and
// returns its pod, which has ended and is gone.
func (n *namespace) fillKernels(pvc, text string, nodeSelector map[string]string) corev1.Pod {
	n.t.Helper()
	filler := job("fill-"+pvc, reader(pvc))
	filler.Spec.Template.Spec.NodeSelector = nodeSelector
	filler.Spec.Template.Spec.Containers[0].Args = []string{"write", "/data/note", text}
	n.apply(filler)
	ended := n.awaitEnd(filler.Name)
	n.must("delete", "job", filler.Name)
	return ended
}

// installBerthForGKM installs Berth for the time of the test as the chart renders it
// with preset=gkm.
func (n *namespace) installBerthForGKM() {
	n.t.Helper()
	text, err := os.ReadFile(filepath.Join(n.cluster.Root, "deploy", "berth.yaml"))
	require.NoError(n.t, err)
	serve := "            - serve\n"
	require.Equal(n.t, 1, strings.Count(string(text), serve))
	preset := strings.NewReplacer(serve, serve+"            - --preset=gkm\n", `"berth.dev/claim"`, `"cache-name"`, `"berth.dev/node"`, `"node"`)
	file := filepath.Join(n.t.TempDir(), "berth.yaml")
	require.NoError(n.t, os.WriteFile(file, []byte(preset.Replace(string(text))), 0o600))
	n.t.Cleanup(func() {
		require.NoError(n.t, n.cluster.InstallBerth(context.Background()))
		n.awaitOnlyNewBerths()
	})
	require.NoError(n.t, n.cluster.RunKubectl(n.t.Context(), "apply", "-f", file))
	n.must("-n", "berth-system", "rollout", "status", "deployment/berth", "--timeout=2m")
	n.awaitOnlyNewBerths()
	n.awaitGKMDefaulting()
}

// awaitOnlyNewBerths waits until no replica from before a change is left.
func (n *namespace) awaitOnlyNewBerths() {
	n.t.Helper()
	require.Eventually(n.t, func() bool {
		list, err := n.client.CoreV1().Pods("berth-system").List(context.Background(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 2
	}, patience, interval, "the old replicas stay")
}

// awaitGKMDefaulting waits until the API server uses the changed configuration.
func (n *namespace) awaitGKMDefaulting() {
	n.t.Helper()
	probe := newNamespace(n.t)
	pvc := provisionedPVC("", "")
	pvc.Name = "probe"
	pvc.Labels = map[string]string{"cache-name": "probe", "node": "node-a"}
	require.Eventually(n.t, func() bool {
		got, err := probe.client.CoreV1().PersistentVolumeClaims(probe.name).Create(n.t.Context(), pvc.DeepCopy(),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && got.Annotations[selectedNode] == "node-a"
	}, patience, interval, "PVCs with the operator's labels don't reach Berth")
}

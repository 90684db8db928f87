//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestBerthIsRolledOutAgainUnderLoadWithoutAFailedCall(t *testing.T) {
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	stop := n.load()
	before := n.berthPods()
	n.must("-n", "berth-system", "rollout", "restart", "deployment/berth")
	n.must("-n", "berth-system", "rollout", "status", "deployment/berth", "--timeout=2m")
	// Until the old replicas are gone, too.
	var after []string
	require.Eventually(t, func() bool {
		after = nil
		for _, pod := range n.berthPods() {
			after = append(after, pod.Name)
		}
		return len(after) == 2
	}, patience, interval, "the old replicas stay")
	calls, failures := stop()
	for _, pod := range before {
		assert.NotContains(t, after, pod.Name)
	}
	assert.Empty(t, failures)
	assert.Greater(t, calls, 100)
}

func TestBerthIsRemovedWhileWorkloadsRunAndLeavesNothingBehind(t *testing.T) {
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.apply(pod("reader", onHost(reader("model-cache"), "node-a")))
	before := n.awaitReady("reader")
	t.Cleanup(func() { require.NoError(t, n.cluster.InstallBerth(context.Background())) })
	require.NoError(t, n.cluster.RunKubectl(t.Context(), "delete", "-f", filepath.Join(n.cluster.Root, "deploy", "berth.yaml"), "--timeout=2m"))
	got := n.must("get", "mutatingwebhookconfigurations,validatingwebhookconfigurations,clusterroles,clusterrolebindings,namespaces,priorityclasses", "-o", "name")
	assert.NotContains(t, got, "/berth")
	assert.NotContains(t, got, "zz-berth")
	after := n.awaitReady("reader")
	assert.Equal(t, before.UID, after.UID)
	assert.Zero(t, after.Status.ContainerStatuses[0].RestartCount)
	n.apply(pod("free", onHost(reader("model-cache"), "node-a")))
	assert.Equal(t, "model-cache", mounted(n.pod("free"), "cache"))
}

func TestUnderDenyADaemonSetsEventsSayWhichNodeHasNoPVC(t *testing.T) {
	n := newNamespace(t)
	n.configureBerth("--missing-node-pvc=deny")
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.apply(daemonSet(reader("model-cache")))
	require.Eventually(t, func() bool {
		events, err := n.client.CoreV1().Events(n.name).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, event := range events.Items {
			if event.Reason == "FailedCreate" && strings.Contains(event.Message, `node "node-b" has no PVC for it`) {
				return true
			}
		}
		return false
	}, patience, interval, "no event says that node-b has no PVC")
	n.assertEachReadsItsOwn(n.awaitPods(1))
}

func TestPVCsAsGPUKernelManagerLabelsThemServeTheirNodes(t *testing.T) {
	n := newNamespace(t)
	n.configureBerth("--preset=gkm")
	// The serving PVC has the cache's name and no node: it is not what pods get.
	n.gkmPVC("kernels", "node-a", "", "nobody's bytes")
	for _, node := range []string{"node-a", "node-b"} {
		n.gkmPVC("kernels-"+node[5:]+"x7k2q", node, node, "the bytes of "+node)
	}
	n.apply(daemonSet(reader("kernels")))
	for _, pod := range n.awaitPods(2) {
		n.assertReadOn(pod, pod.Spec.NodeName)
	}
}

// gkmPVC makes a bound PVC on a node, labelled as the operator does.
func (n *namespace) gkmPVC(name, on, label, text string) {
	n.t.Helper()
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: nodePVC("", "").Spec}
	pvc.Labels = map[string]string{"cache-name": "kernels", "cache-namespace": n.name, "node": label, "digest": strings.Repeat("ab12", 15)}
	pvc.Spec.VolumeName = n.localVolume(on, name, text).Name
	n.bound(pvc)
}

// configureBerth gives Berth more flags for the time of the test.
func (n *namespace) configureBerth(flags ...string) {
	n.t.Helper()
	berth := n.client.AppsV1().Deployments("berth-system")
	before, err := berth.Get(n.t.Context(), "berth", metav1.GetOptions{})
	require.NoError(n.t, err)
	original := before.Spec.Template.Spec.Containers[0].Args
	n.t.Cleanup(func() { n.setBerthFlags(original) })
	n.setBerthFlags(append(append([]string{}, original...), flags...))
}

// setBerthFlags returns once no replica with other flags is left.
func (n *namespace) setBerthFlags(flags []string) {
	n.t.Helper()
	patch, err := json.Marshal([]map[string]any{{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": flags}})
	require.NoError(n.t, err)
	n.must("-n", "berth-system", "patch", "deployment/berth", "--type=json", "-p", string(patch))
	n.must("-n", "berth-system", "rollout", "status", "deployment/berth", "--timeout=2m")
	require.Eventually(n.t, func() bool {
		list, err := n.client.CoreV1().Pods("berth-system").List(context.Background(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 2
	}, patience, interval, "the old replicas stay")
}

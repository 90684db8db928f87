//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	bigNodes = 1000
	// bigLabel is on every object of the big DaemonSet that is in no namespace; its
	// value is the test's namespace.
	bigLabel = "e2e.berth.dev/big"
	writers  = 16 // calls at a time
)

func TestEachOfAThousandPodsOfADaemonSetGetsItsOwnNodesPVC(t *testing.T) {
	n, plain := newNamespace(t), newNamespaceLabelled(t, nil)
	n.removeBig(n.name)
	plain.removeBig(n.name)
	nodes := n.bigNodes()
	n.inBulk(nodes, func(ctx context.Context, node string) error { return n.bigNodePVC(ctx, nodePVC("model-cache", node)) })
	ordinary := nodePVC("", "")
	ordinary.Name, ordinary.Labels = "model-cache", nil
	require.NoError(t, plain.bigNodePVC(t.Context(), ordinary))
	n.awaitBound(bigNodes)
	plain.awaitBound(1)

	without := plain.timeBig()
	with := n.timeBig()
	t.Logf("%d pods: %.1f s (%.0f pods/s) with Berth, %.1f s (%.0f pods/s) without, ratio %.2f", bigNodes,
		with.Seconds(), bigNodes/with.Seconds(), without.Seconds(), bigNodes/without.Seconds(), with.Seconds()/without.Seconds())

	seen := map[string]bool{}
	for _, pod := range n.pods() {
		node := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0]
		assert.Equal(t, "model-cache-"+node, mounted(&pod, "cache"))
		seen[node] = true
	}
	assert.Len(t, seen, bigNodes)
}

// timeBig applies the DaemonSet and returns how long it takes until it has a pod for
// each node.
func (n *namespace) timeBig() time.Duration {
	n.t.Helper()
	template := reader("model-cache")
	template.Spec.NodeSelector = map[string]string{bigLabel + "-node": "yes"}
	template.Spec.Tolerations = []corev1.Toleration{{Key: simulatedTaint, Operator: corev1.TolerationOpExists}}
	n.apply(daemonSet(template))
	began := time.Now()
	require.Eventually(n.t, func() bool {
		// One pod and the number of the others: the cheapest way to count.
		list, err := n.client.CoreV1().Pods(n.name).List(n.t.Context(), metav1.ListOptions{Limit: 1})
		return err == nil && list.RemainingItemCount != nil && *list.RemainingItemCount >= bigNodes-1
	}, patience, interval, "%s has not %d pods", n.name, bigNodes)
	return time.Since(began)
}

// bigNodes makes the Node objects, which no kubelet runs and no other test's pods
// tolerate.
func (n *namespace) bigNodes() []string {
	n.t.Helper()
	names := []string{}
	for i := range bigNodes {
		names = append(names, fmt.Sprintf("big-%04d", i))
	}
	n.inBulk(names, func(ctx context.Context, name string) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, bigLabel: n.name, bigLabel + "-node": "yes",
		}}}
		node.Spec.Taints = []corev1.Taint{{Key: simulatedTaint, Effect: corev1.TaintEffectNoSchedule}}
		if _, err := n.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := n.client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(simulatedStatus), metav1.PatchOptions{}, "status")
		return err
	})
	return names
}

// bigNodePVC makes a PVC and the volume that it will be bound to.
func (n *namespace) bigNodePVC(ctx context.Context, pvc *corev1.PersistentVolumeClaim) error {
	pv := n.freeVolume(pvc)
	pv.Labels = map[string]string{bigLabel: n.name}
	pvc.Spec.VolumeName = pv.Name
	if _, err := n.client.CoreV1().PersistentVolumes().Create(ctx, pv, metav1.CreateOptions{}); err != nil {
		return err
	}
	_, err := n.client.CoreV1().PersistentVolumeClaims(n.name).Create(ctx, pvc, metav1.CreateOptions{})
	return err
}

func (n *namespace) awaitBound(count int) {
	n.t.Helper()
	require.Eventually(n.t, func() bool {
		list, err := n.client.CoreV1().PersistentVolumeClaims(n.name).List(n.t.Context(), metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false
		}
		bound := 0
		for _, pvc := range list.Items {
			if pvc.Status.Phase == corev1.ClaimBound {
				bound++
			}
		}
		return bound == count
	}, 3*patience, 5*interval, "%s has not %d bound PVCs", n.name, count)
}

// inBulk does something for each name, several at a time.
func (n *namespace) inBulk(names []string, do func(context.Context, string) error) {
	n.t.Helper()
	group, ctx := errgroup.WithContext(n.t.Context())
	group.SetLimit(writers)
	for _, name := range names {
		group.Go(func() error { return do(ctx, name) })
	}
	require.NoError(n.t, group.Wait())
}

// removeBig takes away at the end what the test has made. No kubelet confirms that
// the pods have ended.
func (n *namespace) removeBig(label string) {
	n.t.Cleanup(func() {
		core, now := n.client.CoreV1(), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
		ctx, all := context.Background(), metav1.ListOptions{LabelSelector: bigLabel + "=" + label}
		orphan := metav1.DeletePropagationOrphan
		assert.NoError(n.t, n.client.AppsV1().DaemonSets(n.name).DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: &orphan}, metav1.ListOptions{}))
		assert.Eventually(n.t, func() bool {
			sets, err := n.client.AppsV1().DaemonSets(n.name).List(ctx, metav1.ListOptions{})
			return err == nil && len(sets.Items) == 0
		}, patience, interval, "the DaemonSet stays")
		assert.NoError(n.t, core.Pods(n.name).DeleteCollection(ctx, now, metav1.ListOptions{}))
		assert.NoError(n.t, core.Nodes().DeleteCollection(ctx, now, all))
		assert.NoError(n.t, core.PersistentVolumeClaims(n.name).DeleteCollection(ctx, now, metav1.ListOptions{}))
		assert.NoError(n.t, core.PersistentVolumes().DeleteCollection(ctx, now, metav1.ListOptions{LabelSelector: bigLabel + "=" + n.name}))
		pods, err := core.Pods(n.name).List(ctx, metav1.ListOptions{})
		assert.NoError(n.t, err)
		assert.Empty(n.t, pods.Items, "pods stay on nodes that are gone")
	})
}

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	simulatedNodes = 12
	randomPods     = 500
	simulatedTaint = "e2e.berth.dev/simulated" // keeps the other tests' pods off
	extraTaint     = "e2e.berth.dev/extra"     // which the random pods don't tolerate
	zoneLabel      = corev1.LabelTopologyZone

	// simulatedStatus is what a kubelet would report.
	simulatedStatus = `{"status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"1000"},"capacity":{"cpu":"64","memory":"64Gi","pods":"1000"},
		"conditions":[{"type":"Ready","status":"True","reason":"Simulated"}]}}`
)

func TestEveryPodThatBerthRewroteLandsOnTheNodeThatItResolvedOrStaysPending(t *testing.T) {
	n := newNamespace(t)
	nodes := n.simulate()
	for _, node := range nodes {
		n.freeNodePVC("model-cache", node)
	}
	random := rand.New(rand.NewPCG(1, 2))
	resolved, refused := map[string]string{}, 0
	for i := range randomPods {
		name := fmt.Sprintf("random-%d", i)
		made, err := n.client.CoreV1().Pods(n.name).Create(t.Context(), pod(name, randomTemplate(random, nodes)), metav1.CreateOptions{})
		if err != nil {
			require.ErrorContains(t, err, "denied the request")
			refused++
			continue
		}
		resolved[name] = strings.TrimPrefix(mounted(made, "cache"), "model-cache-")
	}
	landed := n.awaitScheduler(resolved)
	t.Logf("%d refused, %d rewritten, %d of them scheduled", refused, len(resolved), landed)
	assert.Greater(t, refused, randomPods/10)
	assert.Greater(t, landed, randomPods/10)
	assert.Greater(t, len(resolved), landed, "no pod met a taint")
}

// freeNodePVC makes a bound node PVC whose volume may be used on any node, so that
// nothing but the pod's own constraints can bring the pod to the node.
func (n *namespace) freeNodePVC(claim, node string) {
	n.t.Helper()
	pvc := nodePVC(claim, node)
	pvc.Spec.VolumeName = n.volume(n.freeVolume(pvc)).Name
	n.bound(pvc)
}

// freeVolume is a PV for one PVC that may be used on any node.
func (n *namespace) freeVolume(pvc *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: n.name + "-" + pvc.Name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName:       localClass,
			Capacity:               pvc.Spec.Resources.Requests,
			AccessModes:            pvc.Spec.AccessModes,
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
			ClaimRef:               &corev1.ObjectReference{Namespace: n.name, Name: pvc.Name},
		},
	}
}

// awaitScheduler waits until the scheduler has said something of every pod, asserts
// that none is elsewhere, and counts those that have a node.
func (n *namespace) awaitScheduler(resolved map[string]string) (landed int) {
	n.t.Helper()
	var pods []corev1.Pod
	require.Eventually(n.t, func() bool {
		pods = n.pods()
		return len(pods) == len(resolved) && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool {
			return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
		})
	}, patience, 5*interval, "the scheduler has not looked at every pod")
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		landed++
		assert.Equal(n.t, resolved[pod.Name], pod.Spec.NodeName, "pod %s", pod.Name)
	}
	return landed
}

// simulate makes Node objects that nobody runs; the scheduler can't tell. Half have
// a hostname that is not their name, a quarter a taint.
func (n *namespace) simulate() []string {
	n.t.Helper()
	n.t.Cleanup(func() {
		// No kubelet confirms that the pods have ended.
		err := n.client.CoreV1().Pods(n.name).DeleteCollection(context.Background(),
			metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{})
		assert.NoError(n.t, err)
	})
	names := []string{}
	for i := range simulatedNodes {
		node := &corev1.Node{}
		node.Name = []string{"sim-", "odd-"}[i%2] + fmt.Sprint(i)
		node.Labels = map[string]string{corev1.LabelHostname: hostnameOf(node.Name), zoneLabel: fmt.Sprintf("zone-%d", i%3)}
		node.Spec.Taints = []corev1.Taint{{Key: simulatedTaint, Effect: corev1.TaintEffectNoSchedule}}
		if i%4 == 3 {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: extraTaint, Effect: corev1.TaintEffectNoSchedule})
		}
		n.createNode(node)
		names = append(names, node.Name)
	}
	return names
}

func (n *namespace) createNode(node *corev1.Node) {
	n.t.Helper()
	_, err := n.client.CoreV1().Nodes().Create(n.t.Context(), node, metav1.CreateOptions{})
	require.NoError(n.t, err)
	n.t.Cleanup(func() {
		assert.NoError(n.t, n.client.CoreV1().Nodes().Delete(context.Background(), node.Name, metav1.DeleteOptions{}))
	})
	// A patch: the node lifecycle controller writes to the object at the same time.
	_, err = n.client.CoreV1().Nodes().Patch(n.t.Context(), node.Name, types.StrategicMergePatchType, []byte(simulatedStatus), metav1.PatchOptions{}, "status")
	require.NoError(n.t, err)
}

// hostnameOf is the hostname label of a node: not always its name.
func hostnameOf(node string) string {
	if strings.HasPrefix(node, "odd-") {
		return "host-of-" + node
	}
	return node
}

// randomTemplate constrains a pod by a node selector, by required affinity, by both
// or by neither.
func randomTemplate(random *rand.Rand, nodes []string) corev1.PodTemplateSpec {
	template := reader("model-cache")
	template.Spec.Tolerations = []corev1.Toleration{{Key: simulatedTaint, Operator: corev1.TolerationOpExists}}
	if random.IntN(3) > 0 {
		template.Spec.NodeSelector = map[string]string{}
		if random.IntN(4) > 0 {
			template.Spec.NodeSelector[corev1.LabelHostname] = hostnameOf(nodes[random.IntN(len(nodes))])
		}
		if random.IntN(4) == 0 {
			template.Spec.NodeSelector[zoneLabel] = fmt.Sprintf("zone-%d", random.IntN(3))
		}
	}
	if random.IntN(2) == 0 {
		terms := make([]corev1.NodeSelectorTerm, 1+random.IntN(2))
		for i := range terms {
			terms[i] = randomTerm(random, nodes)
		}
		template.Spec.Affinity = requiredNode(terms...)
	}
	return template
}

func randomTerm(random *rand.Rand, nodes []string) corev1.NodeSelectorTerm {
	term := corev1.NodeSelectorTerm{}
	some := func() string { return nodes[random.IntN(len(nodes))] }
	if random.IntN(2) == 0 {
		operator := []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn}[random.IntN(3)]
		term.MatchFields = append(term.MatchFields, corev1.NodeSelectorRequirement{Key: metav1.ObjectNameField, Operator: operator, Values: []string{some()}})
	}
	if random.IntN(2) == 0 {
		operator := []corev1.NodeSelectorOperator{corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists}[random.IntN(3)]
		requirement := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: operator}
		for range random.IntN(3) + 1 {
			requirement.Values = append(requirement.Values, hostnameOf(some()))
		}
		if operator == corev1.NodeSelectorOpExists {
			requirement.Values = nil
		}
		term.MatchExpressions = append(term.MatchExpressions, requirement)
	}
	if random.IntN(4) == 0 {
		term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{
			Key: zoneLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("zone-%d", random.IntN(3))},
		})
	}
	return term
}

package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.dev/berth/test/bench/cluster"
	"berth.dev/berth/test/bench/result"
	"berth.dev/berth/test/bench/world"
)

// daemonSetRounds is how often the DaemonSet is applied with and without Berth.
const daemonSetRounds = 10

// daemonSetWorld has 1,000 nodes, and a claim for each namespace.
func daemonSetWorld() world.World { return world.World{Nodes: 1_000, Claims: world.Namespaces} }

// runDaemonSet measures how long it takes from a DaemonSet's creation to its
// last pod's, with the real controller, in namespaces without a webhook, with
// webhooks that do nothing, and with Berth as shipped.
func (b *bench) runDaemonSet(ctx context.Context) error {
	return b.onStage(ctx, "daemonset", daemonSetWorld(), func(ctx context.Context, s *stage) error {
		if err := b.startForDaemonSet(ctx, s); err != nil {
			return err
		}
		if err := s.StartDaemonSetController(); err != nil {
			return err
		}
		return b.alternate(ctx, s.client, s.recorder)
	})
}

// daemonSetNames are what the pods of a DaemonSet go through; each has a namespace.
func daemonSetNames() []string { return []string{"none", "bare-webhook", "berth", "berth-http2"} }

// startForDaemonSet starts the webhooks for their namespaces.
func (b *bench) startForDaemonSet(ctx context.Context, s *stage) error {
	starts := map[string]func() (*hook, error){
		"bare-webhook": func() (*hook, error) { return s.keep(b.startFloor(ctx, s.place)) },
		"berth":        func() (*hook, error) { return s.berth(ctx) },
		"berth-http2":  func() (*hook, error) { return s.berth(ctx, withHTTP2) },
	}
	for n, name := range daemonSetNames() {
		start := starts[name]
		if start == nil {
			continue
		}
		h, err := start()
		if err != nil {
			return err
		}
		if err := s.shipped(ctx, name, world.Namespace(n), h, true); err != nil {
			return err
		}
	}
	return nil
}

// alternate applies the DaemonSet in one namespace after the other, in turns. The first
// turn of each warms up and is not kept.
func (b *bench) alternate(ctx context.Context, client kubernetes.Interface, recorder *result.Recorder) error {
	for round := range daemonSetRounds + 1 {
		b.say("  DaemonSet, round %d of %d", round, daemonSetRounds)
		for n, name := range daemonSetNames() {
			want := func(node int) string { return world.PVCName(n, node) }
			if name == "none" || name == "bare-webhook" {
				want = func(int) string { return world.ClaimName(n) }
			}
			took, err := daemonSet(ctx, client, n, want)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if round == 0 {
				continue
			}
			values := map[string]float64{"s": took.Seconds(), "pods/s": float64(daemonSetWorld().Nodes) / took.Seconds()}
			if err := recorder.Record(result.Sample{Case: "daemonset", Contender: name, Round: round, Values: values}); err != nil {
				return err
			}
		}
	}
	return nil
}

// daemonSet applies a DaemonSet and takes the time until the last of its pods was
// created, which an informer tells. Every pod must mount what it should.
func daemonSet(ctx context.Context, client kubernetes.Interface, n int, want func(node int) string) (time.Duration, error) {
	namespace := world.Namespace(n)
	sets := client.AppsV1().DaemonSets(namespace)
	nodes := map[string]string{} // what the pod of each node must mount
	for node := range daemonSetWorld().Nodes {
		nodes[world.NodeName(node)] = want(node)
	}
	var began time.Time
	err := cluster.Created(ctx, client, namespace, len(nodes), func() error {
		began = time.Now()
		_, err := sets.Create(ctx, reader(namespace, world.ClaimName(n)), metav1.CreateOptions{})
		return err
	}, func(pod *corev1.Pod) error {
		terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		return mounts(pod, nodes[terms[0].MatchFields[0].Values[0]])
	})
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if err := sets.Delete(ctx, "reader", metav1.DeleteOptions{}); err != nil {
		return 0, fmt.Errorf("delete the DaemonSet: %w", err)
	}
	return took, cluster.DeletePods(ctx, client, namespace)
}

// reader is a DaemonSet whose template is the pod that the other parts create.
func reader(namespace, claim string) *appsv1.DaemonSet {
	pod := world.ControllersPod(namespace, claim, "")
	pod.Spec.Affinity, pod.Spec.Tolerations = nil, nil
	labels := map[string]string{"app": "reader"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod.Spec},
		},
	}
}

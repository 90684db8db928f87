package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"berth.dev/berth/test/bench/cluster"
	"berth.dev/berth/test/bench/load"
	"berth.dev/berth/test/bench/result"
	"berth.dev/berth/test/bench/world"
)

const (
	// apiPods is how many pods a contender's turn creates.
	apiPods = 300
	// creators is how many clients create them at once.
	creators = 8
)

// apiNames are the contenders in a real API server. Each has a namespace and a claim
// of its own, by its place in this list.
func apiNames() []string {
	return []string{"none", "bare-webhook", "berth", "berth-mutate-only", "common-way", "cel", "kyverno"}
}

func apiWorld() world.World { return world.World{Nodes: 100, Claims: world.Namespaces} }

// runAPI measures the creation of pods.
func (b *bench) runAPI(ctx context.Context) error {
	if err := b.buildKyverno(ctx); err != nil {
		return err
	}
	return b.onStage(ctx, "api", apiWorld(), func(ctx context.Context, s *stage) error {
		if err := b.startForAPI(ctx, s); err != nil {
			return err
		}
		if err := waitForAll(ctx, s.client); err != nil {
			return err
		}
		for round := range rounds {
			b.say("  round %d of %d", round+1, rounds)
			for n, name := range apiNames() {
				values, err := createPods(ctx, s.client, n)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				if err := s.recorder.Record(result.Sample{Case: "pods", Contender: name, Round: round + 1, Values: values}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// startForAPI starts the webhooks and policies, each for its namespace.
func (b *bench) startForAPI(ctx context.Context, s *stage) error {
	berth, err := s.berth(ctx)
	if err != nil {
		return err
	}
	common, err := s.keep(b.startCommonWay(ctx, s.place, "--config="+s.Kubeconfig))
	if err != nil {
		return err
	}
	bare, err := s.keep(b.startFloor(ctx, s.place))
	if err != nil {
		return err
	}
	starts := map[string]func(name, namespace string) error{
		"none":              func(string, string) error { return nil },
		"bare-webhook":      func(name, namespace string) error { return s.shipped(ctx, name, namespace, bare, true) },
		"berth":             func(name, namespace string) error { return s.shipped(ctx, name, namespace, berth, true) },
		"berth-mutate-only": func(name, namespace string) error { return s.shipped(ctx, name, namespace, berth, false) },
		"common-way":        func(name, namespace string) error { return s.shipped(ctx, name, namespace, common, false) },
		"cel":               func(name, namespace string) error { return createPolicy(ctx, s.Cluster, name, namespace) },
		"kyverno": func(_, namespace string) error {
			_, err := s.keep(b.startKyverno(ctx, s.Cluster, s.place, namespace))
			return err
		},
	}
	for n, name := range apiNames() {
		if err := starts[name](name, world.Namespace(n)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// waitForAll waits until every contender does its job: the API server takes a while
// to learn of webhooks and policies.
func waitForAll(ctx context.Context, client kubernetes.Interface) error {
	for n, name := range apiNames() {
		deadline := time.Now().Add(time.Minute)
		for {
			_, err := createPod(ctx, client, n, 0)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s does not do its job: %w", name, err)
			}
			time.Sleep(time.Second)
		}
		if err := cluster.DeletePods(ctx, client, world.Namespace(n)); err != nil {
			return err
		}
	}
	return nil
}

// createPods creates pods in a contender's namespace, from several clients at once,
// and deletes them, unmeasured.
func createPods(ctx context.Context, client kubernetes.Interface, n int) (map[string]float64, error) {
	var mutex sync.Mutex
	var times load.Times
	work := make(chan int, apiPods)
	for i := range apiPods {
		work <- i
	}
	close(work)
	began := time.Now()
	workers, working := errgroup.WithContext(ctx)
	for range creators {
		workers.Go(func() error {
			for i := range work {
				took, err := createPod(working, client, n, i)
				if err != nil {
					return err
				}
				mutex.Lock()
				times = append(times, took)
				mutex.Unlock()
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	took := time.Since(began)
	return map[string]float64{
		"pods/s": float64(len(times)) / took.Seconds(), "p50-s": times.Quantile(0.50).Seconds(), "p99-s": times.Quantile(0.99).Seconds(),
	}, cluster.DeletePods(ctx, client, world.Namespace(n))
}

// createPod creates the pod of a node, and holds that it got the right PVC.
func createPod(ctx context.Context, client kubernetes.Interface, n, i int) (time.Duration, error) {
	node := i % apiWorld().Nodes
	body, err := json.Marshal(world.ControllersPod(world.Namespace(n), world.ClaimName(n), world.NodeName(node)))
	if err != nil {
		return 0, fmt.Errorf("encode the pod: %w", err)
	}
	var created corev1.Pod
	began := time.Now()
	raw, err := client.CoreV1().RESTClient().Post().Namespace(world.Namespace(n)).Resource("pods").
		SetHeader("Content-Type", "application/json").SetHeader("Accept", "application/json").Body(body).DoRaw(ctx)
	took := time.Since(began)
	if err != nil {
		return 0, fmt.Errorf("create a pod: %w", err)
	}
	if err := json.Unmarshal(raw, &created); err != nil {
		return 0, fmt.Errorf("decode the pod: %w", err)
	}
	want := world.PVCName(n, node)
	if name := apiNames()[n]; name == "none" || name == "bare-webhook" {
		want = world.ClaimName(n)
	}
	return took, mounts(&created, want)
}

// mounts holds that a pod mounts a PVC.
func mounts(pod *corev1.Pod, want string) error {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == want {
			return nil
		}
	}
	return fmt.Errorf("pod %s does not mount %s: %v", pod.Name, want, pod.Spec.Volumes)
}

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
	for _, build := range []func(context.Context) error{b.buildWebhooks, b.buildCluster, b.buildKyverno} {
		if err := build(ctx); err != nil {
			return err
		}
	}
	folder, err := b.folder("api")
	if err != nil {
		return err
	}
	c, err := cluster.New(ctx, b.clusterPrograms(), folder, apiWorld())
	if err != nil {
		return err
	}
	defer c.Stop()
	stop, err := b.startForAPI(ctx, c, folder)
	defer stop()
	if err != nil {
		return err
	}
	recorder, err := result.Create(b.out, "api", b.machine)
	if err != nil {
		return err
	}
	defer func() { _ = recorder.Close() }()
	client, err := c.Client()
	if err != nil {
		return err
	}
	for round := range rounds {
		b.say("  round %d of %d", round+1, rounds)
		for n, name := range apiNames() {
			values, err := createPods(ctx, client, n)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := recorder.Record(result.Sample{Case: "pods", Contender: name, Round: round + 1, Values: values}); err != nil {
				return err
			}
		}
	}
	return nil
}

// startForAPI starts the webhooks and policies, each for its namespace.
func (b *bench) startForAPI(ctx context.Context, c *cluster.Cluster, folder string) (stop func(), err error) {
	var hooks []*hook
	stop = func() {
		for _, h := range hooks {
			h.Stop()
		}
	}
	p, err := newPlace(folder)
	if err != nil {
		return stop, err
	}
	berth, err := b.startBerth(ctx, p, "--kubeconfig="+c.Kubeconfig)
	if err != nil {
		return stop, err
	}
	hooks = append(hooks, berth)
	common, err := b.startCommonWay(ctx, p, "--config="+c.Kubeconfig)
	if err != nil {
		return stop, err
	}
	hooks = append(hooks, common)
	bare, err := b.startFloor(ctx, p)
	if err != nil {
		return stop, err
	}
	hooks = append(hooks, bare)
	for n, name := range apiNames() {
		namespace := world.Namespace(n)
		switch name {
		case "bare-webhook":
			err = c.Shipped(ctx, b.root, cluster.Hook{Name: name, Namespace: namespace, URL: bare.url, CA: p.cert.PEM}, true)
		case "berth", "berth-mutate-only":
			err = c.Shipped(ctx, b.root, cluster.Hook{Name: name, Namespace: namespace, URL: berth.url, CA: p.cert.PEM}, name == "berth")
		case "common-way":
			// The same configuration as Berth's: rules, conditions, reinvocation.
			err = c.Shipped(ctx, b.root, cluster.Hook{Name: name, Namespace: namespace, URL: common.url, CA: p.cert.PEM}, false)
		case "cel":
			err = createPolicy(ctx, c, name, namespace)
		case "kyverno":
			var kyverno *hook
			if kyverno, err = b.startKyverno(ctx, c, p, namespace); err == nil {
				hooks = append(hooks, kyverno)
			}
		}
		if err != nil {
			return stop, fmt.Errorf("%s: %w", name, err)
		}
	}
	return stop, b.waitForAll(ctx, c)
}

// waitForAll waits until every contender does its job: the API server takes a while
// to learn of webhooks and policies.
func (b *bench) waitForAll(ctx context.Context, c *cluster.Cluster) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
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

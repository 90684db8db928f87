package main

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"berth.dev/berth/test/bench/cluster"
	"berth.dev/berth/test/bench/result"
	"berth.dev/berth/test/bench/world"
)

// stage is what a part with a real API server measures on.
type stage struct {
	*cluster.Cluster
	bench    *bench
	place    *place
	client   *kubernetes.Clientset
	recorder *result.Recorder
	hooks    []*hook
}

// onStage builds and starts what a part needs over a world, lets it measure, and ends
// all that was started.
func (b *bench) onStage(ctx context.Context, part string, w world.World, measure func(context.Context, *stage) error) error {
	for _, build := range []func(context.Context) error{b.buildWebhooks, b.buildCluster} {
		if err := build(ctx); err != nil {
			return err
		}
	}
	folder, err := b.folder(part)
	if err != nil {
		return err
	}
	b.say("  make a cluster of %d nodes and %d node PVCs with PVs", w.Nodes, w.Nodes*w.Claims)
	s := &stage{bench: b}
	if s.Cluster, err = cluster.New(ctx, b.clusterPrograms(), folder, w); err != nil {
		return err
	}
	defer s.Stop()
	if s.client, err = s.Client(); err != nil {
		return err
	}
	if s.place, err = newPlace(folder); err != nil {
		return err
	}
	if s.recorder, err = result.Create(b.out, part, b.machine); err != nil {
		return err
	}
	defer func() { _ = s.recorder.Close() }()
	defer s.stopHooks()
	return measure(ctx, s)
}

// berth starts Berth on the cluster, to run till the end.
func (s *stage) berth(ctx context.Context, flags ...string) (*hook, error) {
	return s.keep(s.bench.startBerth(ctx, s.place, append(flags, "--kubeconfig="+s.Kubeconfig)...))
}

// keep has a webhook, if it started, run till the end.
func (s *stage) keep(h *hook, err error) (*hook, error) {
	if err == nil {
		s.hooks = append(s.hooks, h)
	}
	return h, err
}

func (s *stage) stopHooks() {
	for _, h := range s.hooks {
		h.Stop()
	}
}

// shipped has the API server call a webhook for one namespace, as Berth is shipped:
// rules, conditions, reinvocation, and the twin, too, if asked for.
func (s *stage) shipped(ctx context.Context, name, namespace string, h *hook, twin bool) error {
	return s.Shipped(ctx, s.bench.root, cluster.Hook{Name: name, Namespace: namespace, URL: h.url, CA: s.place.cert.PEM}, twin)
}

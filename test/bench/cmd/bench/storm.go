package main

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"berth.dev/berth/test/bench/load"
	"berth.dev/berth/test/bench/result"
	"berth.dev/berth/test/bench/world"
)

const (
	stormRate        = 1_000 // reviews a second
	stormLasts       = time.Minute
	stormUpdates     = 10_000 // of PVCs, in that time
	stormConnections = 32
	stormWriters     = 4
	// webhookTimeout is timeoutSeconds of the shipped configuration.
	webhookTimeout = 5 * time.Second
)

// stormWorld has as many node PVCs as there are updates.
func stormWorld() world.World { return world.World{Nodes: 1_000, Claims: 10} }

// runStorm sends reviews while PVCs change. It fails if an answer is wrong or comes
// after the API server would have given up.
func (b *bench) runStorm(ctx context.Context) error {
	return b.onStage(ctx, "storm", stormWorld(), func(ctx context.Context, s *stage) error {
		s.place.env = memoryLimit()
		berth, err := s.berth(ctx)
		if err != nil {
			return err
		}
		return b.storm(ctx, s.client, berth, s.recorder)
	})
}

// storm measures. An update that came too late counts: the writers run until the
// last one, and the reviews until the minute is over.
func (b *bench) storm(ctx context.Context, client kubernetes.Interface, berth *hook, recorder *result.Recorder) error {
	bodies, err := stormBodies(ctx, berth)
	if err != nil {
		return err
	}
	var updated atomic.Int64
	var got load.Result
	both, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	both.Go(func() error { return updatePVCs(ctx, client, began, &updated) })
	both.Go(func() error {
		var err error
		got, err = load.Open(ctx, berth.Target, stormRate, stormConnections, stormLasts, bodies)
		return err
	})
	if err := both.Wait(); err != nil {
		return err
	}
	slowest := got.Times.Quantile(1)
	b.say("  %d reviews, %d PVC updates: p50 %s, p99 %s, slowest %s; none wrong", len(got.Times), updated.Load(),
		got.Times.Quantile(0.50).Round(time.Microsecond), got.Times.Quantile(0.99).Round(time.Microsecond), slowest.Round(time.Microsecond))
	err = recorder.Record(result.Sample{Case: "storm", Contender: "berth", Round: 1, Values: map[string]float64{
		"reviews": float64(len(got.Times)), "updates": float64(updated.Load()), "p50-s": got.Times.Quantile(0.50).Seconds(),
		"p99-s": got.Times.Quantile(0.99).Seconds(), "slowest-s": slowest.Seconds(), "reviews/s": got.PerSecond(),
	}})
	if err == nil && slowest > webhookTimeout {
		err = fmt.Errorf("a review took %s: the API server waits %s", slowest, webhookTimeout)
	}
	return err
}

// stormBodies are reviews of pods of many nodes and claims, each with its answer,
// which was checked once: it must stay the same, byte for byte.
func stormBodies(ctx context.Context, berth *hook) (func(n int) ([]byte, load.Check), error) {
	conn, err := load.DialHTTP1(ctx, berth.Target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	const different = 200
	reviews := make([]world.Review, different)
	answers := make([][]byte, different)
	for i := range reviews {
		reviews[i] = stormWorld().PodReview(i%stormWorld().Claims, i*7%stormWorld().Nodes)
		answer, err := conn.Do(conn.Request(reviews[i].Body))
		if err != nil {
			return nil, err
		}
		if err := reviews[i].Check(answer); err != nil {
			return nil, err
		}
		answers[i] = answer
	}
	return func(n int) ([]byte, load.Check) {
		i := n % different
		return reviews[i].Body, func(answer []byte) error {
			if !bytes.Equal(answer, answers[i]) {
				return fmt.Errorf("a wrong answer: %s instead of %s", answer, answers[i])
			}
			return nil
		}
	}, nil
}

// updatePVCs changes every PVC of the world once, evenly over the time.
func updatePVCs(ctx context.Context, client kubernetes.Interface, began time.Time, updated *atomic.Int64) error {
	var writers errgroup.Group
	for writer := range stormWriters {
		writers.Go(func() error {
			for i := writer; i < stormUpdates; i += stormWriters {
				timer := time.NewTimer(time.Until(began.Add(stormLasts / stormUpdates * time.Duration(i))))
				select {
				case <-timer.C:
				case <-ctx.Done():
					timer.Stop()
					return ctx.Err()
				}
				if err := updatePVC(ctx, client, i%stormWorld().Claims, i/stormWorld().Claims); err != nil {
					return err
				}
				updated.Add(1)
			}
			return nil
		})
	}
	return writers.Wait()
}

func updatePVC(ctx context.Context, client kubernetes.Interface, claim, node int) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"bench.example/changed":"%d"}}}`, time.Now().UnixNano())
	_, err := client.CoreV1().PersistentVolumeClaims(world.Namespace(claim)).
		Patch(ctx, world.PVCName(claim, node), types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("update a PVC: %w", err)
	}
	return nil
}

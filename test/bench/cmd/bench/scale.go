package main

import (
	"context"
	"fmt"
	"time"

	"berth.dev/berth/test/bench/load"
	"berth.dev/berth/test/bench/result"
	"berth.dev/berth/test/bench/world"
)

const (
	// scaleRounds is how often the webhooks are started on the largest cluster.
	scaleRounds = 3
	// scaleReviews is how many reviews each answers before its memory is read again.
	scaleReviews = 200
)

// memoryLimit is what Berth's Deployment allows it (deploy/berth.yaml), as Go is told.
func memoryLimit() []string { return []string{"GOMEMLIMIT=512MiB"} }

// largest is the cluster of the goals: 5,000 nodes, 100,000 node PVCs, as many PVs.
func largest() world.World { return world.World{Nodes: 5_000, Claims: 20} }

// runScale measures memory and time to ready on the largest cluster.
func (b *bench) runScale(ctx context.Context) error {
	return b.onStage(ctx, "scale", largest(), func(ctx context.Context, s *stage) error {
		s.place.env = memoryLimit()
		for round := range scaleRounds {
			b.say("  round %d of %d", round+1, scaleRounds)
			h, err := b.startBerth(ctx, s.place, "--kubeconfig="+s.Kubeconfig)
			if err := recordSize(ctx, s.recorder, "berth", round+1, h, err); err != nil {
				return err
			}
			h, err = b.startCommonWay(ctx, s.place, "--config="+s.Kubeconfig)
			if err := recordSize(ctx, s.recorder, "common-way", round+1, h, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// recordSize keeps how long a webhook took to become ready and how large it is, and
// ends it.
func recordSize(ctx context.Context, recorder *result.Recorder, name string, round int, h *hook, err error) error {
	if err != nil {
		return err
	}
	ready := time.Since(h.Began)
	defer h.Stop()
	values := map[string]float64{"ready-s": ready.Seconds()}
	atReady, _, err := h.Resident()
	if err != nil {
		return err
	}
	conn, err := load.DialHTTP1(ctx, h.Target)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	review := largest().Reviews()[1]
	for range scaleReviews {
		answer, err := conn.Do(conn.Request(review.Body))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := review.Check(answer); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	now, highest, err := h.Resident()
	if err != nil {
		return err
	}
	values["B-ready"], values["B-resident"], values["B-highest"] = float64(atReady), float64(now), float64(highest)
	return recorder.Record(result.Sample{Case: "largest", Contender: name, Round: round, Values: values})
}

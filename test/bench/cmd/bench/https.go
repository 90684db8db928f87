package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"berth.dev/berth/test/bench/load"
	"berth.dev/berth/test/bench/result"
	"berth.dev/berth/test/bench/world"
)

const (
	// together is how many requests are under way at once: connections of HTTP/1.1,
	// or streams of one connection of HTTP/2.
	together = 8
	// httpsRound is how long a contender's turn takes.
	httpsRound = time.Second
	// warmUp comes before each turn, unmeasured.
	warmUp = 100 * time.Millisecond
	// withHTTP2 is a flag of all servers. Without it they speak HTTP/1.1 alone, as
	// Berth is shipped and Kubebuilder sets up its managers.
	withHTTP2 = "--http2"
	// The bare servers: one reads the body, the other has json.Valid look at it, too.
	bare, bareValid = "floor", "floor-valid"
)

// runHTTPS measures the servers as they are, in processes of their own.
func (b *bench) runHTTPS(ctx context.Context) error {
	if err := b.buildWebhooks(ctx); err != nil {
		return err
	}
	folder, err := b.folder("https")
	if err != nil {
		return err
	}
	hooks, stop, err := b.startForHTTPS(ctx, folder)
	defer stop()
	if err != nil {
		return err
	}
	recorder, err := result.Create(b.out, "https", b.machine)
	if err != nil {
		return err
	}
	defer func() { _ = recorder.Close() }()
	// The load takes one core, as each server does.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for round := range rounds {
		b.say("  round %d of %d", round+1, rounds)
		for _, r := range httpsWorld().Reviews() {
			if err := measureHTTPS(ctx, hooks, r, round+1, recorder); err != nil {
				return err
			}
		}
	}
	return nil
}

func httpsWorld() world.World { return world.World{Nodes: 100, Claims: world.Namespaces} }

// contenderHook is a contender's webhook.
type contenderHook struct {
	name string
	*hook
}

// startForHTTPS starts all over the same world.
func (b *bench) startForHTTPS(ctx context.Context, folder string) (hooks []contenderHook, stop func(), err error) {
	stop = func() {
		for _, h := range hooks {
			h.Stop()
		}
	}
	p, err := newPlace(folder)
	if err != nil {
		return nil, stop, err
	}
	p.pinned = runtime.NumCPU() > 1
	w := httpsWorld()
	file, err := writeWorld(folder, w)
	if err != nil {
		return nil, stop, err
	}
	add := func(name string, h *hook, err error) error {
		if err == nil {
			hooks = append(hooks, contenderHook{name, h})
		}
		return err
	}
	h, err := b.startBerth(ctx, p, "--cluster-file="+file, withHTTP2)
	if err := add("berth", h, err); err != nil {
		return hooks, stop, err
	}
	h, err = b.startCommonWay(ctx, p, "--nodes="+strconv.Itoa(w.Nodes), "--claims="+strconv.Itoa(w.Claims), withHTTP2)
	if err := add("common-way", h, err); err != nil {
		return hooks, stop, err
	}
	h, err = b.startFloor(ctx, p, withHTTP2)
	if err := add(bare, h, err); err != nil {
		return hooks, stop, err
	}
	h, err = b.startFloor(ctx, p, withHTTP2, "--valid")
	return hooks, stop, add(bareValid, h, err)
}

// measureHTTPS gives each contender its turn with a review, over both protocols.
func measureHTTPS(ctx context.Context, hooks []contenderHook, r world.Review, round int, recorder *result.Recorder) error {
	size := 0 // of Berth's answer, which the bare servers copy
	for _, h := range hooks {
		answer, err := h.checked(ctx, r, size)
		if err != nil {
			return fmt.Errorf("%s: %w", h.name, err)
		}
		if h.name == "berth" {
			size = len(answer)
		}
		check := func(got []byte) error {
			if len(got) != len(answer) {
				return fmt.Errorf("%s: the answer changed: %s", h.name, got)
			}
			return nil
		}
		for protocol, run := range map[string]closedLoop{"HTTP/1.1": load.ClosedHTTP1, "HTTP/2": load.ClosedHTTP2} {
			values, err := h.turn(ctx, run, h.at(size), r.Body, check)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", h.name, protocol, err)
			}
			if err := recorder.Record(result.Sample{Case: protocol + ", " + r.Slug, Contender: h.name, Round: round, Values: values}); err != nil {
				return err
			}
		}
	}
	return nil
}

// closedLoop is how a protocol is put under load.
type closedLoop func(ctx context.Context, target load.Target, body []byte, together int, round time.Duration, check load.Check) (load.Result, error)

func (h *contenderHook) isBare() bool { return h.name == bare || h.name == bareValid }

// at is the target; a bare server's path tells the size of its answer.
func (h *contenderHook) at(size int) load.Target {
	target := h.Target
	if h.isBare() {
		target.Path = filepath.Join(target.Path, strconv.Itoa(size))
	}
	return target
}

// checked sends a review once and holds that the answer is right.
func (h *contenderHook) checked(ctx context.Context, r world.Review, size int) ([]byte, error) {
	conn, err := load.DialHTTP1(ctx, h.at(size))
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	answer, err := conn.Do(conn.Request(r.Body))
	if err != nil || h.isBare() {
		return answer, err
	}
	return answer, r.Check(answer)
}

// turn is one contender's turn: throughput, times, and the CPU time of the server
// for each answer.
func (h *contenderHook) turn(ctx context.Context, run closedLoop, target load.Target, body []byte, check load.Check) (map[string]float64, error) {
	if _, err := run(ctx, target, body, together, warmUp, check); err != nil {
		return nil, err
	}
	before, err := h.CPU()
	if err != nil {
		return nil, err
	}
	got, err := run(ctx, target, body, together, httpsRound, check)
	if err != nil {
		return nil, err
	}
	after, err := h.CPU()
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		"req/s": got.PerSecond(), "p50-s": got.Times.Quantile(0.50).Seconds(), "p99-s": got.Times.Quantile(0.99).Seconds(),
		"cpu-s/req": (after - before).Seconds() / float64(len(got.Times)),
	}, nil
}

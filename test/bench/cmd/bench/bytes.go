package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"berth.dev/berth/test/bench/result"
)

// rounds is how often everything is measured; contenders take turns in each.
const rounds = 10

// runBytes runs the Go benchmarks, in rounds: what the machine does besides meets
// all contenders alike.
func (b *bench) runBytes(ctx context.Context) error {
	program := b.program("bench.test")
	if err := b.goTool(ctx, "test/bench", "test", "-c", "-o", program, "."); err != nil {
		return err
	}
	if err := b.benchmark(ctx, program, "-test.run=."); err != nil {
		return fmt.Errorf("the contenders don't do the same job: %w", err)
	}
	for _, one := range []struct{ part, pattern, time string }{
		{"bytes", "^BenchmarkBytes$", "300ms"}, {"growth", "^BenchmarkGrowth$", "300ms"},
	} {
		file := result.BenchmarkFile(b.out, one.part)
		if err := os.WriteFile(file, []byte(b.machine.Header()), 0o644); err != nil {
			return fmt.Errorf("begin %s: %w", file, err)
		}
		for round := range rounds {
			b.say("  %s, round %d of %d", one.part, round+1, rounds)
			if err := b.append(ctx, file, program, "-test.run=^$", "-test.bench="+one.pattern, "-test.benchtime="+one.time); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) benchmark(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(b.root, "test", "bench")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// append appends the output of a run to a raw file.
func (b *bench) append(ctx context.Context, file, program string, args ...string) error {
	out, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open %s: %w", file, err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = filepath.Join(b.root, "test", "bench")
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run the benchmarks: %w: see %s", err, file)
	}
	return nil
}

// Command bench measures Berth against other ways to do its job, and keeps what it
// measured in bin/bench. Its arguments are the parts to run, all of them without any:
//
//	bytes      reviews from bytes to bytes, and in clusters of more and more nodes
//	https      the same over HTTPS, HTTP/1.1 and HTTP/2
//	api        pods per second in a real API server
//	scale      memory and time to ready in the largest cluster
//	daemonset  a DaemonSet of 1,000 nodes, with and without Berth
//	storm      a thousand reviews a second while PVCs change
//
// cmd/report makes the table of it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// part is one part of the run.
type part struct {
	name string
	run  func(*bench, context.Context) error
}

func parts() []part {
	return []part{
		{"bytes", (*bench).runBytes}, {"https", (*bench).runHTTPS}, {"api", (*bench).runAPI},
		{"scale", (*bench).runScale}, {"daemonset", (*bench).runDaemonSet}, {"storm", (*bench).runStorm},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := runParts(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// runParts runs the named parts, or all.
func runParts(ctx context.Context, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(parts(), func(p part) bool { return p.name == name }) {
			return fmt.Errorf("there is no part %q", name)
		}
	}
	b, err := newBench()
	if err != nil {
		return err
	}
	for _, p := range parts() {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		began := time.Now()
		b.say("%s", p.name)
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		b.say("%s took %s", p.name, time.Since(began).Round(time.Second))
	}
	return nil
}

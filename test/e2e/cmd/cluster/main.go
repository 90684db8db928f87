// Command cluster starts and stops a real Kubernetes cluster on this machine, with
// Berth installed:
//
//	go run ./cmd/cluster up
//	go run ./cmd/cluster down
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"berth.dev/berth/test/e2e/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	// Like go build, from the module's folder.
	c, err := cluster.New("../..", os.Stdout)
	if err != nil {
		return err
	}
	switch {
	case len(args) == 1 && args[0] == "up":
		if err := c.Up(ctx); err != nil {
			return err
		}
		fmt.Printf("\nNow try:\n  export KUBECONFIG=%s\n  %s get nodes,pods -A\n", c.Kubeconfig(), c.Kubectl())
		return nil
	case len(args) == 1 && args[0] == "down":
		return c.Down(ctx)
	default:
		return errors.New("say up or down")
	}
}

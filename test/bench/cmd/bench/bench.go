package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"berth.dev/berth/test/bench/result"
)

// bench is a run.
type bench struct {
	root    string // of the checkout
	out     string // bin/bench: the raw results
	machine result.Machine
	began   time.Time
}

// newBench finds the checkout: the folder above that has Berth's Dockerfile.
func newBench() (*bench, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the checkout: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "cmd", "berth")); err == nil {
			break
		}
		if root == filepath.Dir(root) {
			return nil, errors.New("find the checkout: run this inside of it")
		}
		root = filepath.Dir(root)
	}
	machine, err := result.ThisMachine()
	if err != nil {
		return nil, err
	}
	b := &bench{root: root, out: filepath.Join(root, "bin", "bench"), machine: machine, began: time.Now()}
	if err := os.MkdirAll(b.programs(), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of results: %w", err)
	}
	return b, nil
}

func (b *bench) programs() string { return filepath.Join(b.out, "programs") }

func (b *bench) program(name string) string { return filepath.Join(b.programs(), name) }

// clusterPrograms is where test/e2e keeps the programs of a cluster.
func (b *bench) clusterPrograms() string { return filepath.Join(b.root, "bin", "e2e") }

// say prints one line of progress with the seconds since the start.
func (b *bench) say(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stdout, "%5.0f s  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// folder is an empty folder for the files of a part's processes. They are kept
// until the part runs again: logs may be wanted.
func (b *bench) folder(name string) (string, error) {
	folder := filepath.Join(b.out, "state", name)
	if err := os.RemoveAll(folder); err != nil {
		return "", fmt.Errorf("empty %s: %w", folder, err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("make %s: %w", folder, err)
	}
	return folder, nil
}

// build builds a program of a module; the Go build cache makes it quick.
func (b *bench) build(ctx context.Context, module, path, to string, flags ...string) error {
	args := append(append([]string{"build"}, flags...), "-o", to, path)
	return b.goTool(ctx, module, args...)
}

func (b *bench) goTool(ctx context.Context, module string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.root, module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w: %s", args, err, out)
	}
	return nil
}

// buildWebhooks builds those that run as processes.
func (b *bench) buildWebhooks(ctx context.Context) error {
	return errors.Join(
		b.build(ctx, ".", "./cmd/berth", b.program("berth"), "-trimpath", "-ldflags=-s -w"),
		b.build(ctx, "test/bench", "./cmd/commonway", b.program("commonway"), "-trimpath", "-ldflags=-s -w"),
		b.build(ctx, "test/bench", "./cmd/floor", b.program("floor"), "-trimpath", "-ldflags=-s -w"),
	)
}

// buildCluster builds the programs of a control plane where test/e2e has not done so.
func (b *bench) buildCluster(ctx context.Context) error {
	const version = "-X k8s.io/component-base/version."
	for _, name := range []string{"etcd", "kube-apiserver", "kube-controller-manager"} {
		to := filepath.Join(b.clusterPrograms(), name)
		if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		b.say("build %s (minutes, the first time)", name)
		err := b.build(ctx, "test/e2e", "./cmd/"+name, to,
			"-ldflags=-s -w "+version+"gitVersion=v1.37.2 "+version+"gitMajor=1 "+version+"gitMinor=37")
		if err != nil {
			return err
		}
	}
	return nil
}

// buildKyverno builds Kyverno where that was not done.
func (b *bench) buildKyverno(ctx context.Context) error {
	if _, err := os.Stat(b.program("kyverno")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b.say("build kyverno (10 minutes, the first time)")
	return b.build(ctx, "test/bench/kyverno", "github.com/kyverno/kyverno/cmd/kyverno", b.program("kyverno"), "-ldflags=-s -w")
}

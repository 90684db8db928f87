package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// gracePeriod is how long a process may take to end before it is killed.
const gracePeriod = 20 * time.Second

// pollInterval is how often a condition is looked at.
const pollInterval = 100 * time.Millisecond

// start runs a program in the cluster's network, as a process of its own that
// outlives this one, and records it under its name. One that runs is left alone.
func (c *Cluster) start(name, program string, args ...string) error {
	if c.running(name) {
		return nil
	}
	for _, folder := range []string{c.state("run"), c.state("logs")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("make the folders of %s: %w", name, err)
		}
	}
	log, err := os.OpenFile(c.Log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	// The network namespace alone: with a mount namespace of its own (ip netns
	// exec), containerd would not see the volumes that the kubelet mounts.
	cmd := exec.CommandContext(context.Background(), "nsenter", append([]string{"--net=" + namespacePath, "--", program}, args...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	born, err := birth(cmd.Process.Pid)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	record := fmt.Sprintf("%d %s\n", cmd.Process.Pid, born)
	go func() { _ = cmd.Wait() }()
	if err := os.WriteFile(c.pidFile(name), []byte(record), 0o644); err != nil {
		return fmt.Errorf("record the process of %s: %w", name, err)
	}
	return nil
}

// stop ends the process that was recorded under the name, and no other.
func (c *Cluster) stop(ctx context.Context, name string) error {
	pid, ok := c.recorded(name)
	if ok {
		_ = syscall.Kill(pid, syscall.SIGTERM)
		gone := func(context.Context) error { return c.stillThere(name) }
		if err := waitFor(ctx, gracePeriod, gone); err != nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			if err := waitFor(ctx, gracePeriod, gone); err != nil {
				return fmt.Errorf("stop %s: %w", name, err)
			}
		}
	}
	if err := os.Remove(c.pidFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget %s: %w", name, err)
	}
	return nil
}

// Log is the file that the output of a process goes to.
func (c *Cluster) Log(name string) string { return c.state("logs", name+".log") }

func (c *Cluster) pidFile(name string) string { return c.state("run", name+".pid") }

func (c *Cluster) running(name string) bool {
	_, ok := c.recorded(name)
	return ok
}

func (c *Cluster) stillThere(name string) error {
	if pid, ok := c.recorded(name); ok {
		return fmt.Errorf("process %d still runs", pid)
	}
	return nil
}

// recorded returns the live process of a name. A process that merely got the same
// number later was born at another time.
func (c *Cluster) recorded(name string) (pid int, ok bool) {
	text, err := os.ReadFile(c.pidFile(name))
	if err != nil {
		return 0, false
	}
	number, born, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	pid, err = strconv.Atoi(number)
	if err != nil {
		return 0, false
	}
	now, err := birth(pid)
	return pid, err == nil && now == born
}

// birth returns when a live process began, in clock ticks since the machine did.
func birth(pid int) (string, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", fmt.Errorf("process %d is gone: %w", pid, err)
	}
	// The command's name, in parentheses, may hold spaces; the state follows it.
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(rest))
	if len(fields) < 20 || fields[0] == "Z" {
		return "", fmt.Errorf("process %d has ended", pid)
	}
	return fields[19], nil
}

// waitFor calls met until it returns nil, and returns its last error otherwise.
func waitFor(ctx context.Context, timeout time.Duration, met func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := met(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s: %w", timeout, err)
		case <-ticker.C:
		}
	}
}

// run runs a program to its end; its output is part of the error.
func run(ctx context.Context, dir, program string, args ...string) error {
	_, err := output(ctx, dir, program, args...)
	return err
}

func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return string(out), nil
}

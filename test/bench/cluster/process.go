package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// gracePeriod is how long a process may take to end before it is killed.
	gracePeriod = 20 * time.Second
	// startTimeout is how long a process may take to become ready.
	startTimeout = 3 * time.Minute
	// pollInterval is how often a condition is looked at. Times to ready are as
	// exact as this.
	pollInterval = 20 * time.Millisecond
)

// Process is a program that runs.
type Process struct {
	Name string
	// Began is when it was started.
	Began time.Time

	cmd  *exec.Cmd
	log  string // file of its output
	done chan struct{}
}

// Start starts a program. Its output goes to a file in the folder; env is added to
// the environment.
func Start(folder, name string, env []string, program string, args ...string) (*Process, error) {
	p := &Process{Name: name, log: filepath.Join(folder, name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }()
	p.cmd = exec.Command(program, args...) //nolint:noctx // Stop ends it, gently
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// A process group of its own: an interrupt at the terminal is ours to handle.
	// It does not outlive us, even if we are killed.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.Began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// Stop ends the process, and waits until it has ended.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(gracePeriod):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Until waits until a condition is met. The error says where the log is.
func (p *Process) Until(ctx context.Context, met func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := met(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s has ended: see %s", p.Name, p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: see %s", p.Name, errors.Join(ctx.Err(), err), p.log)
		case <-time.After(pollInterval):
		}
	}
}

// Resident is the memory of the process in bytes: now, and at its highest.
func (p *Process) Resident() (now, highest int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, 0, fmt.Errorf("read the memory of %s: %w", p.Name, err)
	}
	kilobytes := func(key string) int64 {
		for line := range strings.Lines(string(status)) {
			if value, ok := strings.CutPrefix(line, key+":"); ok {
				n, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
				return n
			}
		}
		return 0
	}
	return kilobytes("VmRSS") << 10, kilobytes("VmHWM") << 10, nil
}

// ticksPerSecond is USER_HZ, which is 100 on every Linux platform that Go knows.
const ticksPerSecond = 100

// CPU is the time that the process has worked, in steps of 10 ms.
func (p *Process) CPU() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the CPU time of %s: %w", p.Name, err)
	}
	// The name, in parentheses, may hold spaces; the state follows it.
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	fields := strings.Fields(string(rest))
	if len(fields) < 13 {
		return 0, fmt.Errorf("read the CPU time of %s: %q", p.Name, stat)
	}
	user, errUser := strconv.Atoi(fields[11])
	system, errSystem := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / ticksPerSecond, errors.Join(errUser, errSystem)
}

// FreePort is a TCP port of loopback that nobody listens on.
func FreePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.New("find a free port: no TCP address")
	}
	return address.Port, nil
}

// IsOK asks an address in the clear; no error means 200.
func IsOK(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

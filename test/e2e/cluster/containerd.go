package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// startContainerd starts a node's containerd and gives it the images: there is no
// registry to pull from.
func (c *Cluster) startContainerd(ctx context.Context, node string) error {
	name := "containerd-" + node
	if err := c.start(name, "containerd", "--config", c.state("nodes", node, "containerd.toml")); err != nil {
		return err
	}
	err := waitFor(ctx, startTimeout, func(ctx context.Context) error {
		if err := c.alive(name); err != nil {
			return err
		}
		return c.ctr(ctx, node, "version")
	})
	if err != nil {
		return c.seeLog(name, err)
	}
	for _, archive := range []string{c.appArchive(), c.berthArchive(BerthVersion)} {
		if err := c.ctr(ctx, node, "images", "import", archive); err != nil {
			return fmt.Errorf("import an image into %s: %w", node, err)
		}
	}
	return nil
}

func (c *Cluster) ctr(ctx context.Context, node string, args ...string) error {
	return run(ctx, "", "ctr", append([]string{"--address", c.containerdSocket(node), "--namespace", "k8s.io"}, args...)...)
}

// removeSandboxes stops and removes every pod of a node as the kubelet would, which
// ends their processes and frees their addresses.
func (c *Cluster) removeSandboxes(ctx context.Context, node string) error {
	connection, err := grpc.NewClient("unix://"+c.containerdSocket(node), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("reach containerd of %s: %w", node, err)
	}
	defer func() { _ = connection.Close() }()
	runtime := cri.NewRuntimeServiceClient(connection)
	list, err := runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return fmt.Errorf("list the pods of %s: %w", node, err)
	}
	for _, sandbox := range list.Items {
		if _, err := runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: sandbox.Id}); err != nil {
			return fmt.Errorf("stop pod %s of %s: %w", sandbox.Metadata.Name, node, err)
		}
		if _, err := runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: sandbox.Id}); err != nil {
			return fmt.Errorf("remove pod %s of %s: %w", sandbox.Metadata.Name, node, err)
		}
	}
	return nil
}

// killShims ends the shims of a node's containerd, which it has left to itself: a
// pod that was being made when the list was taken. Their address tells whose they are.
func (c *Cluster) killShims(node string) error {
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return fmt.Errorf("list the processes: %w", err)
	}
	errs := []error{}
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(command, []byte("containerd-shim")) ||
			!bytes.Contains(command, []byte("\x00-address\x00"+c.containerdSocket(node)+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			return fmt.Errorf("read the process of %s: %w", path, err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("end shim %d of %s: %w", pid, node, err))
		}
	}
	return errors.Join(errs...)
}

// unmountBelow unmounts what is mounted below a folder, the last mount first.
func unmountBelow(folder string) error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("read the mounts: %w", err)
	}
	errs := []error{}
	for _, line := range slices.Backward(strings.Split(string(text), "\n")) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(fields[4], folder+"/") {
			if err := syscall.Unmount(fields[4], syscall.MNT_DETACH); err != nil {
				errs = append(errs, fmt.Errorf("unmount %s: %w", fields[4], err))
			}
		}
	}
	return errors.Join(errs...)
}

// removeLogLinks removes the links that a kubelet has put into the machine's
// folder of container logs.
func removeLogLinks(target string) error {
	links, err := filepath.Glob("/var/log/containers/*.log")
	if err != nil {
		return fmt.Errorf("list the links to logs: %w", err)
	}
	errs := []error{}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, target+"/") {
			if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

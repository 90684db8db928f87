package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// HostAddress is this machine's address on the cluster's network: where the API
// server reaches a test.
const HostAddress = "198.18.77.254"

const (
	namespace     = "berth-e2e"
	namespacePath = "/run/netns/" + namespace
	hostLink      = "berth-e2e"
	apiAddress    = "198.18.77.1"
	serviceCIDR   = "198.19.0.0/20"
	apiService    = "198.19.0.1" // the first of serviceCIDR, by Kubernetes' own rule
	podCIDR       = "198.18.128.0/17"
	cniBin        = "/usr/lib/cni"
)

// nsfs is the file system of namespaces, by its number in linux/magic.h.
const nsfs = 0x6e736673

// makeNetwork makes the network namespace and a pair of links into it. An address
// of the namespace stands for the API server's Service, so that pods reach it
// without kube-proxy.
func (c *Cluster) makeNetwork(ctx context.Context) error {
	if networkExists() && c.ownsNetwork() {
		return nil
	}
	if err := removeNetwork(ctx); err != nil {
		return err
	}
	inside := "-n " + namespace + " "
	for _, line := range []string{
		"netns add " + namespace,
		"link add " + hostLink + " type veth peer name eth0 netns " + namespace,
		"addr add " + HostAddress + "/24 dev " + hostLink,
		"link set " + hostLink + " up",
		inside + "link set lo up",
		inside + "addr add " + apiService + "/32 dev lo",
		inside + "addr add " + apiAddress + "/24 dev eth0",
		inside + "link set eth0 up",
	} {
		if err := run(ctx, "", "ip", strings.Fields(line)...); err != nil {
			return errors.Join(err, removeNetwork(context.WithoutCancel(ctx)))
		}
	}
	return c.writeCNI()
}

// addNodeAddress gives the namespace a node's address, once.
func addNodeAddress(ctx context.Context, address string) error {
	return run(ctx, "", "ip", "-n", namespace, "addr", "replace", address+"/24", "dev", "eth0")
}

// networkExists tells a namespace from the empty file of its name that a restart of
// the machine may leave.
func networkExists() bool {
	var at syscall.Statfs_t
	return syscall.Statfs(namespacePath, &at) == nil && at.Type == nsfs
}

// ownsNetwork tells whether this checkout made the namespace to its end.
func (c *Cluster) ownsNetwork() bool {
	_, err := os.Stat(c.cniConfig())
	return err == nil
}

// checkNetwork refuses while a network that this checkout didn't make has processes.
// Without them it is what an attempt or a checkout that is gone has left.
func (c *Cluster) checkNetwork(ctx context.Context) error {
	if !networkExists() || c.ownsNetwork() {
		return nil
	}
	pids, err := output(ctx, "", "ip", "netns", "pids", namespace)
	if err != nil {
		return err
	}
	if users := strings.Fields(pids); len(users) > 0 {
		return fmt.Errorf("a cluster of another checkout runs on this machine: make cluster-down there, or end its processes: %s", strings.Join(users, " "))
	}
	return nil
}

// removeNetwork takes the links and bridges away with the namespace.
func removeNetwork(ctx context.Context) error {
	// The pair goes with either end, at once; the namespace itself only when its
	// last process is gone.
	_ = run(ctx, "", "ip", "link", "del", hostLink)
	if networkExists() {
		return run(ctx, "", "ip", "netns", "del", namespace)
	}
	if err := os.Remove(namespacePath); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what is left of the network namespace: %w", err)
	}
	return nil
}

func (c *Cluster) cniConfig() string { return c.state("cni", "10-berth-e2e.conflist") }

// writeCNI says how pods are attached: one bridge for all nodes, and one range
// from which both take addresses.
func (c *Cluster) writeCNI() error {
	if err := os.MkdirAll(c.state("cni"), 0o755); err != nil {
		return fmt.Errorf("make the CNI folder: %w", err)
	}
	text := fmt.Sprintf(`{
  "cniVersion": "1.0.0",
  "name": "berth-e2e",
  "plugins": [{
    "type": "bridge",
    "bridge": "pods",
    "isGateway": true,
    "hairpinMode": true,
    "ipam": {
      "type": "host-local",
      "dataDir": %q,
      "ranges": [[{"subnet": %q}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`, c.state("ipam"), podCIDR)
	return os.WriteFile(c.cniConfig(), []byte(text), 0o644)
}

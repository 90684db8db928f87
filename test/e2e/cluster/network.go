package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
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

// makeNetwork makes the network namespace and a pair of links into it. An address
// of the namespace stands for the API server's Service, so that pods reach it
// without kube-proxy.
func (c *Cluster) makeNetwork(ctx context.Context) error {
	if _, err := os.Stat(namespacePath); err == nil {
		return nil
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
			return err
		}
	}
	return c.writeCNI()
}

// addNodeAddress gives the namespace a node's address, once.
func addNodeAddress(ctx context.Context, address string) error {
	return run(ctx, "", "ip", "-n", namespace, "addr", "replace", address+"/24", "dev", "eth0")
}

// removeNetwork takes the links and bridges away with the namespace.
func removeNetwork(ctx context.Context) error {
	if _, err := os.Stat(namespacePath); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// The pair goes with either end, at once; the namespace itself only when its
	// last process is gone.
	_ = run(ctx, "", "ip", "link", "del", hostLink)
	return run(ctx, "", "ip", "netns", "del", namespace)
}

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
	return os.WriteFile(c.state("cni", "10-berth-e2e.conflist"), []byte(text), 0o644)
}

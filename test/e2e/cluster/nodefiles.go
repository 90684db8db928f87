package cluster

import (
	"fmt"
	"os"
	"path/filepath"
)

// writeNodeFiles writes what a node's containerd and kubelet read.
func (c *Cluster) writeNodeFiles(node string, place int) error {
	for _, folder := range []string{"data", "kubelet", "pods-logs", "pki"} {
		if err := os.MkdirAll(c.state("nodes", node, folder), 0o755); err != nil {
			return fmt.Errorf("make the folders of %s: %w", node, err)
		}
	}
	for name, text := range map[string]string{
		"containerd.toml": c.containerdConfig(node),
		"kubelet.yaml":    c.kubeletConfig(node, place),
	} {
		if err := os.WriteFile(c.state("nodes", node, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("configure %s: %w", node, err)
		}
	}
	return nil
}

func (c *Cluster) containerdSocket(node string) string {
	return c.state("nodes", node, "containerd.sock")
}

// containerdConfig keeps everything of containerd in the node's folder, the
// network namespaces of pods included.
func (c *Cluster) containerdConfig(node string) string {
	home := c.state("nodes", node)
	return fmt.Sprintf(`version = 2
root = %q
state = %q

[grpc]
  address = %q

[plugins."io.containerd.internal.v1.opt"]
  path = %q

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  netns_mounts_under_state_dir = true
  # A root without CAP_SYS_RESOURCE, as in a container, may not lower the score.
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q
`, filepath.Join(home, "containerd"), filepath.Join(home, "run"), c.containerdSocket(node),
		filepath.Join(home, "opt"), AppImage, cniBin, c.state("cni"))
}

// kubeletConfig needs no systemd and no delegated cgroups, and evicts nothing when
// the machine's disk is nearly full. Both nodes share the machine, so the ports
// differ.
func (c *Cluster) kubeletConfig(node string, place int) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: unix://%s
podLogsDir: %s
port: %d
healthzPort: %d
readOnlyPort: 0
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
localStorageCapacityIsolation: false
evictionHard: {}
imageGCHighThresholdPercent: 100
resolvConf: ""
# A renewed Secret reaches its pods within this time.
syncFrequency: 10s
`, c.containerdSocket(node), c.state("nodes", node, "pods-logs"), 10250+place, 10350+place)
}

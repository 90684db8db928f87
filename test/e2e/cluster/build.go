package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// kubernetesVersion is the version of k8s.io/kubernetes in go.mod.
const kubernetesVersion = "v1.37.2"

// programs are the commands of this module that a cluster runs.
var programs = []string{
	"app", "etcd", "kubectl", "kube-scheduler", "kube-controller-manager", "cert-manager", "kube-apiserver", "kubelet",
}

// build builds the programs; the Go build cache makes a second time take seconds.
func (c *Cluster) build(ctx context.Context) error {
	for _, name := range programs {
		c.say("  %s", name)
		cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", versionFlags(), "-o", c.program(name), "./cmd/"+name)
		cmd.Dir = filepath.Join(c.Root, "test", "e2e")
		// Without cgo the programs are static: app is an image of one file.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// versionFlags stamp the version: kubectl refuses a server without one.
func versionFlags() string {
	const at = "-X k8s.io/component-base/version."
	return "-s -w " + at + "gitVersion=" + kubernetesVersion + " " + at + "gitMajor=1 " + at + "gitMinor=37"
}

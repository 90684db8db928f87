package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// longestSocket is what Linux allows for the path of a Unix socket, in bytes.
const longestSocket = 107

// required are the programs that come from Debian packages.
var required = []struct{ program, debianPackage string }{
	{"containerd", "containerd"},
	{"ctr", "containerd"},
	{"runc", "runc"},
	{cniBin + "/bridge", "containernetworking-plugins"},
	{cniBin + "/host-local", "containernetworking-plugins"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
	{"buildah", "buildah"},
	{"make", "make"},
}

// checkMachine says in one line what the machine lacks.
func (c *Cluster) checkMachine() error {
	if runtime.GOOS != "linux" {
		return errors.New("the cluster needs Linux")
	}
	if os.Geteuid() != 0 {
		return errors.New("the cluster needs root: it makes network namespaces and runs containers")
	}
	if socket := c.containerdSocket("node-a"); len(socket) > longestSocket {
		return fmt.Errorf("the checkout's path is too long for a socket: %s has more than %d bytes", socket, longestSocket)
	}
	missing := []string{}
	for _, need := range required {
		if _, err := exec.LookPath(need.program); err != nil && !strings.Contains(strings.Join(missing, " "), need.debianPackage) {
			missing = append(missing, need.debianPackage)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	return nil
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Nodes that Up starts.
var initialNodes = []string{"node-a", "node-b"}

// Cluster is one cluster, running or not. There is one a machine at most: its
// network namespace has a fixed name.
type Cluster struct {
	// Root is the checkout of the project.
	Root string
	// Out is where progress is told.
	Out io.Writer

	began time.Time
}

// New returns the cluster of the checkout at root, which tells its progress to out.
func New(root string, out io.Writer) (*Cluster, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find the checkout: %w", err)
	}
	return &Cluster{Root: root, Out: out, began: time.Now()}, nil
}

// Up builds what must be built and starts the cluster; what runs already is left
// alone. It returns once the nodes are Ready and Berth is installed and ready.
func (c *Cluster) Up(ctx context.Context) error {
	if err := c.checkMachine(); err != nil {
		return err
	}
	if err := c.checkNetwork(ctx); err != nil {
		return err
	}
	steps := []struct {
		name string
		do   func(context.Context) error
	}{
		{"build the cluster's programs (12 minutes the first time)", c.build},
		{"build Berth's image", c.buildImages},
		{"make the network namespace", c.makeNetwork},
		{"start the control plane", c.startControlPlane},
		{"start the nodes", c.startInitialNodes},
		{"start cert-manager", c.startCertManager},
		{"install Berth", c.InstallBerth},
	}
	for _, step := range steps {
		c.say("%s", step.name)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	c.say("the cluster is up")
	return nil
}

// Down stops everything that Up or StartNode started and removes its state. The
// programs that were built stay.
func (c *Cluster) Down(ctx context.Context) error {
	errs := []error{}
	for _, node := range c.nodes() {
		c.say("stop %s", node)
		errs = append(errs, c.StopNode(ctx, node))
	}
	for _, name := range slices.Backward(controlPlane) {
		errs = append(errs, c.stop(ctx, name))
	}
	if c.ownsNetwork() {
		errs = append(errs, removeNetwork(ctx))
	}
	errs = append(errs, unmountBelow(c.state()))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.RemoveAll(c.state()); err != nil {
		return fmt.Errorf("remove the state: %w", err)
	}
	c.say("the cluster is down")
	return nil
}

func (c *Cluster) startInitialNodes(ctx context.Context) error {
	for _, node := range initialNodes {
		if err := c.StartNode(ctx, node); err != nil {
			return err
		}
	}
	return nil
}

// say prints one line of progress with the seconds since the start.
func (c *Cluster) say(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Out, "%4.0f s  %s\n", time.Since(c.began).Seconds(), fmt.Sprintf(format, args...))
}

// Bin is the folder of the programs that were built.
func (c *Cluster) Bin() string { return filepath.Join(c.Root, "bin", "e2e") }

// Kubeconfig is the file that lets an administrator into the cluster.
func (c *Cluster) Kubeconfig() string { return c.state("kubeconfig") }

// Kubectl is the kubectl of the cluster's version.
func (c *Cluster) Kubectl() string { return c.program("kubectl") }

// Data is a folder of a node for the directories of its local volumes.
func (c *Cluster) Data(node string) string { return c.state("nodes", node, "data") }

func (c *Cluster) program(name string) string { return filepath.Join(c.Bin(), name) }

func (c *Cluster) state(parts ...string) string {
	return filepath.Join(append([]string{c.Bin(), "state"}, parts...)...)
}

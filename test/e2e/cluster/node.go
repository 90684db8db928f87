package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// knownNodes are the nodes that may be started.
var knownNodes = []string{"node-a", "node-b", "node-c"}

// nodes returns the nodes that have state, running or not.
func (c *Cluster) nodes() []string {
	return slices.DeleteFunc(slices.Clone(knownNodes), func(node string) bool {
		_, err := os.Stat(c.state("nodes", node))
		return err != nil
	})
}

// StartNode starts a node's containerd and kubelet and returns once the node is
// Ready. The node must be node-a, node-b or node-c.
func (c *Cluster) StartNode(ctx context.Context, node string) error {
	place := slices.Index(knownNodes, node)
	if place < 0 {
		return fmt.Errorf("node %q is none of %s", node, strings.Join(knownNodes, ", "))
	}
	if err := addNodeAddress(ctx, nodeAddress(place)); err != nil {
		return err
	}
	if err := c.writeNodeFiles(node, place); err != nil {
		return err
	}
	if err := c.startContainerd(ctx, node); err != nil {
		return err
	}
	if err := c.start("kubelet-"+node, c.program("kubelet"), c.kubeletFlags(node, place)...); err != nil {
		return err
	}
	c.say("  %s", node)
	if err := waitFor(ctx, startTimeout, func(ctx context.Context) error { return c.nodeReady(ctx, node) }); err != nil {
		return c.seeLog("kubelet-"+node, err)
	}
	return nil
}

// StopNode takes a node out of the cluster and removes what it left on the machine.
// Its pods are killed; those that belong to a controller come back elsewhere.
func (c *Cluster) StopNode(ctx context.Context, node string) error {
	if err := c.stop(ctx, "kubelet-"+node); err != nil {
		return err
	}
	if c.running("containerd-" + node) {
		if err := c.removeSandboxes(ctx, node); err != nil {
			return err
		}
	}
	if err := c.stop(ctx, "containerd-"+node); err != nil {
		return err
	}
	return errors.Join(
		c.killShims(node),
		unmountBelow(c.state("nodes", node)),
		removeLogLinks(c.state("nodes", node)),
		os.RemoveAll(c.state("nodes", node)),
	)
}

func (c *Cluster) kubeletFlags(node string, place int) []string {
	return []string{
		"--config=" + c.state("nodes", node, "kubelet.yaml"),
		"--kubeconfig=" + c.kubeconfigOf(node),
		"--hostname-override=" + node,
		"--node-ip=" + nodeAddress(place),
		"--root-dir=" + c.state("nodes", node, "kubelet"),
		"--cert-dir=" + c.state("nodes", node, "pki"),
	}
}

// nodeReady waits for the Ready condition of a node, or for its being new: the
// status of an earlier node of the name may say anything.
func (c *Cluster) nodeReady(ctx context.Context, node string) error {
	if err := c.alive("kubelet-" + node); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	got, err := client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range got.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(got.Spec.Taints) == 0 {
			return nil
		}
	}
	return fmt.Errorf("node %s is not ready", node)
}

// RemoveNode stops a node and deletes its Node object.
func (c *Cluster) RemoveNode(ctx context.Context, node string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	if err := c.StopNode(ctx, node); err != nil {
		return err
	}
	if err := client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete node %s: %w", node, err)
	}
	return nil
}

func nodeAddress(place int) string { return "198.18.77." + strconv.Itoa(11+place) }

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// startCertManager applies cert-manager's CustomResourceDefinitions, as its module
// ships them, and starts its controllers.
func (c *Cluster) startCertManager(ctx context.Context) error {
	module, err := output(ctx, filepath.Join(c.Root, "test", "e2e"), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager")
	if err != nil {
		return err
	}
	crds := filepath.Join(strings.TrimSpace(module), "deploy", "crds")
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("cert-manager's definitions are not in %s: %w", crds, err)
	}
	for _, file := range files {
		if err := c.RunKubectl(ctx, "apply", "--server-side", "-f", file); err != nil {
			return err
		}
	}
	if err := c.RunKubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"); err != nil {
		return err
	}
	return c.start("cert-manager", c.program("cert-manager"), "--kubeconfig="+c.kubeconfigOf("cert-manager"))
}

// InstallBerth does what the README says, and waits until the API server trusts
// what Berth serves.
func (c *Cluster) InstallBerth(ctx context.Context) error {
	if err := c.RunKubectl(ctx, "apply", "-f", filepath.Join(c.Root, "deploy", "berth.yaml")); err != nil {
		return err
	}
	if err := waitFor(ctx, startTimeout, c.authorityInjected); err != nil {
		return c.seeLog("cert-manager", err)
	}
	return c.RunKubectl(ctx, "-n", "berth-system", "rollout", "status", "deployment/berth", "--timeout=2m")
}

// authorityInjected waits for what cert-manager has to do: until then Berth's pods
// have no certificate, and the API server trusts none.
func (c *Cluster) authorityInjected(ctx context.Context) error {
	if err := c.alive("cert-manager"); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	configurations := client.AdmissionregistrationV1()
	mutating, err := configurations.MutatingWebhookConfigurations().Get(ctx, "zz-berth", metav1.GetOptions{})
	if err != nil {
		return err
	}
	validating, err := configurations.ValidatingWebhookConfigurations().Get(ctx, "berth", metav1.GetOptions{})
	if err != nil {
		return err
	}
	bundles := map[string][]byte{}
	for _, webhook := range mutating.Webhooks {
		bundles["mutating "+webhook.Name] = webhook.ClientConfig.CABundle
	}
	for _, webhook := range validating.Webhooks {
		bundles["validating "+webhook.Name] = webhook.ClientConfig.CABundle
	}
	for name, bundle := range bundles {
		if len(bundle) == 0 {
			return fmt.Errorf("the %s webhook has no CA yet", name)
		}
	}
	return nil
}

// RunKubectl runs the cluster's kubectl; its output is part of the error.
func (c *Cluster) RunKubectl(ctx context.Context, args ...string) error {
	return run(ctx, c.Root, c.Kubectl(), append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
}

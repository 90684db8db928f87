package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.dev/berth/test/bench/cluster"
)

// kyvernoWebhooks is the configuration that Kyverno writes for its policies, once it
// has read them.
const kyvernoWebhooks = "kyverno-resource-mutating-webhook-cfg"

// startKyverno starts Kyverno's admission controller outside of the cluster, with one
// policy for one namespace, and logs as its chart has it. Reports and events, which the
// job does not need, are off.
func (b *bench) startKyverno(ctx context.Context, c *cluster.Cluster, p *place, namespace string) (*hook, error) {
	if err := b.prepareKyverno(ctx, c, namespace); err != nil {
		return nil, err
	}
	port, err := cluster.FreePort()
	if err != nil {
		return nil, err
	}
	metrics, err := cluster.FreePort()
	if err != nil {
		return nil, err
	}
	env := p.env
	defer func() { p.env = env }()
	p.env = append(slices.Clone(env), "KYVERNO_NAMESPACE=kyverno", "KYVERNO_SERVICEACCOUNT_NAME=kyverno", "KYVERNO_DEPLOYMENT=kyverno",
		"KYVERNO_POD_NAME=kyverno", "KYVERNO_SVC=kyverno", "INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics")
	h, err := p.start("kyverno", port, "/", b.program("kyverno"),
		"--kubeconfig="+c.Kubeconfig, "--serverIP="+loopback(port), "--webhookServerHost=127.0.0.1", fmt.Sprintf("--webhookServerPort=%d", port),
		"-v=2", "--caSecretName=kyverno-ca", "--tlsSecretName=kyverno-tls", "--admissionReports=false",
		"--omitEvents=PolicyApplied,PolicySkipped,PolicyViolation,PolicyError", "--backgroundServiceAccountName=kyverno", "--reportsServiceAccountName=kyverno",
		"--metricsHost=127.0.0.1", fmt.Sprintf("--metricsPort=%d", metrics), "--controllerRuntimeMetricsAddress=0",
		"--clientRateLimitQPS=1000", "--clientRateLimitBurst=2000")
	if err != nil {
		return nil, err
	}
	if err := b.createKyvernoPolicy(ctx, c, h, namespace); err != nil {
		h.Stop()
		return nil, err
	}
	return h, nil
}

// prepareKyverno creates what its chart would: the CRDs and its configuration, which
// keeps its webhooks to the one namespace.
func (b *bench) prepareKyverno(ctx context.Context, c *cluster.Cluster, namespace string) error {
	documents, err := b.kyvernoCRDs(ctx)
	if err != nil {
		return err
	}
	documents = append(documents,
		"{apiVersion: v1, kind: Namespace, metadata: {name: kyverno}}",
		"{apiVersion: v1, kind: ConfigMap, metadata: {namespace: kyverno, name: kyverno-metrics}}",
		`{apiVersion: v1, kind: ConfigMap, metadata: {namespace: kyverno, name: kyverno}, data: {resourceFilters: "", webhooks: '`+
			`{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"`+namespace+`"}}}'}}`,
	)
	return c.Create(ctx, documents...)
}

// kyvernoCRDs reads the CRDs out of Kyverno's module.
func (b *bench) kyvernoCRDs(ctx context.Context) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/kyverno/kyverno")
	cmd.Dir = filepath.Join(b.root, "test", "bench", "kyverno")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("find Kyverno's module: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "config", "crds", "*", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list Kyverno's CRDs: %w", err)
	}
	var documents []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a CRD: %w", err)
		}
		documents = append(documents, strings.TrimPrefix(string(text), "---\n"))
	}
	return documents, nil
}

// createKyvernoPolicy creates the policy, which Kyverno's own webhook checks, and
// waits until its webhooks are registered. Until that webhook serves, creating fails.
func (b *bench) createKyvernoPolicy(ctx context.Context, c *cluster.Cluster, h *hook, namespace string) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	hooks := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	err = h.Until(ctx, func(ctx context.Context) error {
		_, err := hooks.Get(ctx, "kyverno-policy-mutating-webhook-cfg", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	err = h.Until(ctx, func(ctx context.Context) error {
		err := createPolicy(ctx, c, "kyverno", namespace)
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		if err != nil {
			time.Sleep(time.Second) // one try takes a second or so itself
		}
		return err
	})
	if err != nil {
		return err
	}
	return h.Until(ctx, func(ctx context.Context) error {
		config, err := hooks.Get(ctx, kyvernoWebhooks, metav1.GetOptions{})
		if err == nil && len(config.Webhooks) == 0 {
			err = fmt.Errorf("%s is empty", kyvernoWebhooks)
		}
		return err
	})
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// Create creates objects from YAML documents.
func (c *Cluster) Create(ctx context.Context, documents ...string) error {
	config, err := c.Config()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("reach the API server: %w", err)
	}
	resources, err := restmapper.GetAPIGroupResources(served)
	if err != nil {
		return fmt.Errorf("ask what the API server serves: %w", err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(resources)
	for _, document := range documents {
		if err := create(ctx, client, mapper, document); err != nil {
			return err
		}
	}
	return nil
}

func create(ctx context.Context, client dynamic.Interface, mapper meta.RESTMapper, document string) error {
	var object unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
		return fmt.Errorf("decode %q: %w", document, err)
	}
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("find the resource of %s: %w", kind.Kind, err)
	}
	var in dynamic.ResourceInterface = client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		in = client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	if _, err := in.Create(ctx, &object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create %s %q: %w", kind.Kind, object.GetName(), err)
	}
	return nil
}

// Hook is a webhook for the pods of one namespace.
type Hook struct {
	Name      string
	Namespace string
	URL       func(path string) string
	CA        []byte
}

// Shipped creates the webhook configurations that Berth ships (deploy/berth.yaml in
// the checkout), but for one namespace, and reached by URL. Without the twin, only
// the mutating one.
func (c *Cluster) Shipped(ctx context.Context, root string, hook Hook, twin bool) error {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "berth.yaml"))
	if err != nil {
		return fmt.Errorf("read what Berth ships: %w", err)
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	found := 0
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		switch {
		case strings.Contains(document, "\nkind: MutatingWebhookConfiguration\n"):
			var shipped admissionregistrationv1.MutatingWebhookConfiguration
			if err := yaml.Unmarshal([]byte(document), &shipped); err != nil {
				return fmt.Errorf("decode the mutating webhooks: %w", err)
			}
			shipped.Name += "-" + hook.Name
			for i := range shipped.Webhooks {
				w := &shipped.Webhooks[i]
				hook.direct(&w.ClientConfig, &w.NamespaceSelector)
			}
			if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, &shipped, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create the mutating webhooks: %w", err)
			}
			found++
		case twin && strings.Contains(document, "\nkind: ValidatingWebhookConfiguration\n"):
			var shipped admissionregistrationv1.ValidatingWebhookConfiguration
			if err := yaml.Unmarshal([]byte(document), &shipped); err != nil {
				return fmt.Errorf("decode the validating webhooks: %w", err)
			}
			shipped.Name += "-" + hook.Name
			for i := range shipped.Webhooks {
				w := &shipped.Webhooks[i]
				hook.direct(&w.ClientConfig, &w.NamespaceSelector)
			}
			if _, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &shipped, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create the validating webhooks: %w", err)
			}
			found++
		}
	}
	if found == 0 || twin && found != 2 {
		return errors.New("deploy/berth.yaml lacks webhook configurations")
	}
	return nil
}

// direct points a webhook's configuration at the process.
func (h *Hook) direct(config *admissionregistrationv1.WebhookClientConfig, namespaces **metav1.LabelSelector) {
	path := "/mutate"
	if config.Service != nil && config.Service.Path != nil {
		path = *config.Service.Path
	}
	*config = admissionregistrationv1.WebhookClientConfig{URL: new(h.URL(path)), CABundle: h.CA}
	*namespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": h.Namespace}}
}

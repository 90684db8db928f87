package main

import (
	"context"
	"fmt"

	certmanager "github.com/cert-manager/cert-manager/pkg/api"
	"github.com/cert-manager/cert-manager/pkg/controller/cainjector"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kubernetes "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// inject runs the cainjector for webhook configurations.
func inject(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	// Server-side apply takes its field manager from here.
	config.UserAgent = "cert-manager-cainjector"
	config.QPS = -1
	scheme := runtime.NewScheme()
	utilruntime.Must(kubernetes.AddToScheme(scheme))
	utilruntime.Must(certmanager.AddToScheme(scheme))
	manager, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metrics.Options{BindAddress: "0"}})
	if err != nil {
		return fmt.Errorf("prepare the cainjector: %w", err)
	}
	err = cainjector.RegisterAllInjectors(ctx, manager, cainjector.SetupOptions{
		EnableCertificatesDataSource: true,
		EnabledReconcilersFor: map[string]bool{
			cainjector.MutatingWebhookConfigurationName:   true,
			cainjector.ValidatingWebhookConfigurationName: true,
		},
	})
	if err != nil {
		return fmt.Errorf("register the injectors: %w", err)
	}
	return manager.Start(ctx)
}

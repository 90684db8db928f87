// Command commonway serves the common way to do Berth's job: a controller-runtime
// manager with its cache and its webhook server, as the Kubebuilder book sets them up.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"berth.dev/berth/test/bench/contender"
	"berth.dev/berth/test/bench/world"
)

// options are the flags.
type options struct {
	kubeconfig string
	world      world.World
	certs      string
	port       int
	http2      bool
}

func main() {
	o := options{}
	flag.StringVar(&o.kubeconfig, "config", "", "kubeconfig of the cluster to read; else a world is made")
	flag.IntVar(&o.world.Nodes, "nodes", 100, "nodes of the world")
	flag.IntVar(&o.world.Claims, "claims", 5, "claims of the world")
	flag.StringVar(&o.certs, "certs", "", "folder of tls.crt and tls.key")
	flag.IntVar(&o.port, "port", 9443, "port on loopback")
	flag.BoolVar(&o.http2, "http2", false, "speak HTTP/2, too")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	if err := o.run(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "commonway:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) error {
	protocols := []string{"http/1.1"}
	if o.http2 {
		protocols = []string{"h2", "http/1.1"}
	}
	hooks := webhook.NewServer(webhook.Options{
		Host: "127.0.0.1", Port: o.port, CertDir: o.certs,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) { c.NextProtos = protocols }},
	})
	if o.kubeconfig == "" {
		handler, err := contender.CommonWayHandler(ctx, o.world)
		if err != nil {
			return err
		}
		hooks.Register("/mutate", handler)
		return hooks.Start(ctx)
	}
	return o.manage(ctx, hooks)
}

// manage runs a manager. Its webhook server starts once the informers, which are
// asked for here, have listed everything.
func (o *options) manage(ctx context.Context, hooks webhook.Server) error {
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: server.Options{BindAddress: "0"},
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	hooks.Register("/mutate", &webhook.Admission{Handler: &contender.CommonWay{
		Client: manager.GetClient(), Decoder: admission.NewDecoder(clientgoscheme.Scheme),
	}})
	failed := make(chan error, 1)
	go func() { failed <- manager.Start(ctx) }()
	for _, object := range []client.Object{&corev1.Node{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{}} {
		if _, err := manager.GetCache().GetInformer(ctx, object); err != nil {
			return fmt.Errorf("fill the cache: %w", err)
		}
	}
	if !manager.GetCache().WaitForCacheSync(ctx) {
		return errors.New("the cache did not fill")
	}
	return errors.Join(hooks.Start(ctx), <-failed)
}

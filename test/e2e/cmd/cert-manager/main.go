// Command cert-manager runs cert-manager's own controllers and its cainjector in
// one process: the parts that issue, renew and inject Berth's certificate.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	// A set of its own: controller-runtime puts a flag of this name into the common one.
	flags := flag.NewFlagSet("cert-manager", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "the cluster, a kubeconfig FILE")
	_ = flags.Parse(os.Args[1:])
	ctrl.SetLogger(klog.Background())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := run(ctx, *kubeconfig)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cert-manager:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return inject(ctx, config) })
	group.Go(func() error { return issue(ctx, kubeconfig) })
	return group.Wait()
}

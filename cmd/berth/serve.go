package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"berth.dev/berth/certs"
	"berth.dev/berth/webhook"
	"berth.dev/berth/webhook/claim"
)

// newServe is the subcommand serve.
func newServe() *cobra.Command {
	o := newServeOptions()
	cmd := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Serve the admission webhook",
		Long: `Serve answers admission reviews: POST /mutate and POST /validate over HTTPS, and
/livez, /readyz and /metrics in the clear on an address of their own.`,
		DisableFlagsInUseLine: true,
		Args:                  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rules, errs := o.validate()
			if len(errs) > 0 {
				return usageError(errs)
			}
			return o.run(cmd.Context(), rules, cmd.ErrOrStderr())
		},
	}
	o.addFlags(cmd)
	return cmd
}

// run serves until the context is done.
func (o *serveOptions) run(ctx context.Context, rules *claim.Rules, stderr io.Writer) error {
	log := o.log.logger(stderr)
	klog.SetSlogLogger(slog.New(klogHandler{log.Handler()})) // client-go logs through klog, and so do its error handlers
	log.Info("berth starts", "version", berthVersion())
	giveGarbageRoom()
	server, jobs, err := o.assemble(rules, log)
	if err != nil {
		return err
	}
	listeners, err := listen(ctx, o.bindAddress, o.metricsAddress)
	if err != nil {
		return err
	}
	stop := start(ctx, jobs, log)
	defer stop()
	return server.Run(ctx, listeners[0], listeners[1])
}

// assemble puts the server together, and gives the jobs that must run beside it.
func (o *serveOptions) assemble(rules *claim.Rules, log *slog.Logger) (*webhook.Server, []job, error) {
	cluster, err := o.cluster.open(rules, log)
	if err != nil {
		return nil, nil, err
	}
	clientCAs, caJobs, err := o.certs.openClientCAs(log)
	if err != nil {
		return nil, nil, err
	}
	certificate, certJobs, err := o.certs.open(o.bindAddress, log)
	if err != nil {
		return nil, nil, err
	}
	metrics := webhook.NewMetrics(webhook.Gauges{
		Version: berthVersion(), Informers: cluster.states, NodePVCs: cluster.store.NodePVCStates, CertificateNotAfter: certificate.NotAfter,
	})
	server := webhook.NewServer(webhook.Config{
		Pipeline: webhook.NewPipeline(cluster.store, rules, cluster.live(rules, metrics.ObserveLiveRead)),
		Metrics:  metrics, Log: log,
		TLS:    certs.ServerConfig(certificate.GetCertificate, clientCAs, o.http2),
		Synced: cluster.synced, Certificate: certificate.Ready,
		MaxRequestBytes: o.maxRequestBytes, ShutdownDelay: o.shutdownDelay,
	})
	return server, append(append(cluster.jobs(), caJobs...), certJobs...), nil
}

// listen opens a listener for each address, or none.
func listen(ctx context.Context, addresses ...string) ([]net.Listener, error) {
	var out []net.Listener
	for _, address := range addresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			for _, opened := range out {
				_ = opened.Close()
			}
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// start runs the jobs until stop is called, which waits for them. They outlive
// the context: a server that drains still reads the cluster.
func start(ctx context.Context, jobs []job, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{}, len(jobs))
	for _, run := range jobs {
		go func() {
			defer func() { done <- struct{}{} }()
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				log.Error("a background job ended", "error", err)
			}
		}()
	}
	return func() {
		cancel()
		timeout := time.After(jobsTimeout)
		for range jobs {
			select {
			case <-done:
			case <-timeout:
				log.Warn(fmt.Sprintf("background jobs did not end within %s", jobsTimeout))
				return
			}
		}
	}
}

// jobsTimeout bounds the wait for jobs at the end.
const jobsTimeout = 5 * time.Second

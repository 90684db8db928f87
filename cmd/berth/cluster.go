package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"berth.dev/berth/webhook"
	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/lookup"
)

// cluster is where decisions look things up.
type cluster struct {
	store     *lookup.Store
	informers *lookup.Informers    // nil for a file
	client    kubernetes.Interface // for live reads; nil for a file
}

// open reads the cluster file, or gets ready to read the cluster.
func (f *clusterFlags) open(rules *claim.Rules, log *slog.Logger) (*cluster, error) {
	if f.file != "" {
		file, err := lookup.ReadClusterFile(f.file, rules)
		if err != nil {
			return nil, err
		}
		log.Info("cluster read from a file", "file", f.file)
		return &cluster{store: file.Store}, nil
	}
	config, err := f.restConfig()
	if err != nil {
		return nil, err
	}
	log.Info("cluster found", "server", config.Host)
	return connect(config, rules, log)
}

// connect makes two clients, so that live reads don't wait for informers.
func connect(config *rest.Config, rules *claim.Rules, log *slog.Logger) (*cluster, error) {
	slow := lookup.InformerConfig(config)
	slow.Timeout = 0 // --request-timeout would end watches
	informers, err := kubernetes.NewForConfig(slow)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	live, err := kubernetes.NewForConfig(lookup.LiveConfig(config))
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	store := lookup.NewStore(rules)
	return &cluster{store: store, informers: lookup.NewInformers(informers, store, log), client: live}, nil
}

// live reads what decisions doubt; nil for a file, which is the whole truth.
func (c *cluster) live(rules *claim.Rules, observe func(resource, result string)) webhook.LiveReader {
	if c.client == nil {
		return nil
	}
	return lookup.NewLive(c.client, rules, observe)
}

// jobs keep the picture of the cluster up to date.
func (c *cluster) jobs() []job {
	if c.informers == nil {
		return nil
	}
	return []job{func(ctx context.Context) error {
		c.informers.Run(ctx)
		return nil
	}}
}

// synced is nil once everything was read; before, one error for each resource that was not.
func (c *cluster) synced() error {
	if c.informers == nil {
		return nil
	}
	var errs []error
	for _, r := range c.informers.Unsynced() {
		errs = append(errs, fmt.Errorf("%s: %s", r.Resource, r.Reason))
	}
	return errors.Join(errs...)
}

// states tells which resources were read.
func (c *cluster) states() map[string]bool {
	if c.informers != nil {
		return c.informers.States()
	}
	states := map[string]bool{}
	for _, resource := range lookup.Resources() {
		states[resource] = true
	}
	return states
}

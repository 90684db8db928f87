package main

import (
	"context"

	"berth.dev/berth/test/bench/cluster"
	"berth.dev/berth/test/bench/contender"
)

// createPolicy creates the policy of a contender that runs on policies.
func createPolicy(ctx context.Context, c *cluster.Cluster, name, namespace string) error {
	documents, err := contender.Manifests(name, namespace)
	if err != nil {
		return err
	}
	return c.Create(ctx, documents...)
}

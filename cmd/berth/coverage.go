package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// exitUncovered is the exit code of coverage where a node lacks the data and
// waiting won't bring it.
const exitUncovered = 1

// newCoverage is the subcommand coverage.
func newCoverage() *cobra.Command {
	o := newCoverageOptions()
	cmd := &cobra.Command{
		Use:   "coverage [flags]",
		Short: "Show which nodes have the data of node-local claims",
		Long: `Coverage shows how far each node-local claim is served on each Node that the
selector matches, all Nodes by default, cordoned and tainted ones too. With
DaemonSets (-f), on the Nodes that their pods would run on. It changes nothing.

States: Ready; Pending (the PVC is not bound); Unfilled (bound, and still being
filled); Deleting; Lost; Ambiguous (several PVCs, and nothing tells them apart);
Missing. A PVC whose volume is another node's is told apart, whatever its state.

The table has a summary, then what is not Ready, at most 20 nodes a claim; json
has everything.

Exit codes: 0 if every node is served or will be, 1 if something is Missing,
Lost, Ambiguous or another node's, 2 if the input or the cluster can't be read
or the command line is wrong.`,
		DisableFlagsInUseLine: true,
		Args:                  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rules, selector, errs := o.validate()
			if len(errs) > 0 {
				return usageError(errs)
			}
			return o.run(cmd.Context(), rules, selector, streamsOf(cmd))
		},
	}
	o.addFlags(cmd)
	return cmd
}

// run shows the coverage of claims, or of DaemonSets.
func (o *coverageOptions) run(ctx context.Context, rules *claim.Rules, selector labels.Selector, io streams) error {
	var daemonSets []*manifest
	if len(o.filenames) > 0 {
		var errs []error
		if daemonSets, errs = o.loadDaemonSets(io); len(errs) > 0 {
			return io.fail(exitCantTell, errs...)
		}
	}
	inv, warning, err := o.cluster.inventory(ctx, rules, o.needs(rules, daemonSets))
	if err != nil {
		return io.fail(exitCantTell, err)
	}
	if warning != nil {
		io.say("%s, so PVCs are not checked against their volumes", oneLine(warning))
	}
	found := o.cover(inv, selector, daemonSets)
	o.remark(found, daemonSets, io)
	if err := coveragePrinters()[o.output](io.out, found, o.allNamespaces); err != nil {
		return io.fail(exitCantTell, fmt.Errorf("write the coverage: %w", err))
	}
	return exitOfCoverage(found)
}

// loadDaemonSets reads the kinds with a pod on every node. What else is in the
// files is passed over: it comes with a DaemonSet, as its Namespace does.
func (o *coverageOptions) loadDaemonSets(io streams) ([]*manifest, []error) {
	manifests, errs := loadManifests(o.filenames, false, io.in)
	if len(errs) > 0 {
		return nil, errs
	}
	var out []*manifest
	for _, m := range manifests {
		if m.hasPodOnEveryNode() {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil, []error{errors.New("no DaemonSet in the input: only its pods are known to run on every node")}
	}
	return out, nil
}

// hasPodOnEveryNode tells whether the object is a DaemonSet, or one of OpenKruise's alike.
func (m *manifest) hasPodOnEveryNode() bool {
	switch m.resource().GroupResource().String() {
	case "daemonsets.apps", "daemonsets.apps.kruise.io", "broadcastjobs.apps.kruise.io":
		return true
	}
	return false
}

// needs are the lists to read. A DaemonSet's pods may be held by any PVC that they
// name; otherwise the claim label selects.
func (o *coverageOptions) needs(rules *claim.Rules, daemonSets []*manifest) inventoryNeeds {
	if len(daemonSets) == 0 {
		return inventoryNeeds{namespaces: []string{o.lookAt()}, selector: rules.Keys.Claim, pvs: true}
	}
	var namespaces []string
	for _, m := range daemonSets {
		namespaces = append(namespaces, m.namespace(o.lookAt()))
	}
	slices.Sort(namespaces)
	return inventoryNeeds{namespaces: slices.Compact(namespaces), pvs: true}
}

// cover looks at each claim, or at each one that a DaemonSet mounts.
func (o *coverageOptions) cover(inv *inventory, selector labels.Selector, daemonSets []*manifest) []*claimCoverage {
	nodes := inv.selected(selector)
	if len(daemonSets) == 0 {
		return o.coverClaims(inv, nodes)
	}
	var out []*claimCoverage
	for _, m := range daemonSets {
		gvr := m.resource()
		req := &admission.Request{
			Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource,
			Namespace: m.namespace(o.lookAt()), Name: m.head.Metadata.Name, Object: m.raw,
		}
		out = append(out, o.coverPlaces(inv, nodes, m, req)...)
	}
	return out
}

// remark says why there is nothing, where there is nothing.
func (o *coverageOptions) remark(found []*claimCoverage, daemonSets []*manifest, io streams) {
	for _, m := range daemonSets {
		if !mentions(found, m.workload()) {
			io.say("%s: %s %q mounts no node-local claim on any of these nodes", m.source, m.head.Kind, m.name())
		}
	}
	if len(found) > 0 || len(daemonSets) > 0 {
		return
	}
	where := fmt.Sprintf("namespace %q", o.lookAt())
	if o.allNamespaces {
		where = "any namespace"
	}
	io.say("no node PVC in %s", where)
}

func exitOfCoverage(found []*claimCoverage) error {
	for _, c := range found {
		if c.needsAction() {
			return exitError(exitUncovered)
		}
	}
	return nil
}

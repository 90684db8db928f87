package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"berth.dev/berth/webhook/claim"
)

// The names of the flags that only expand has.
const (
	flagDataRevision  = "revision"
	flagRespectTaints = "respect-taints"
	flagPrune         = "prune"
)

// expandOptions are the flags of expand.
type expandOptions struct {
	filenames     []string
	namespace     string
	selector      string
	claim         string
	revision      string
	respectTaints bool
	prune         bool
	output        string
	cluster       *clusterFlags
	rules         *ruleFlags
	bad           badValues
}

// newExpand is the subcommand expand.
func newExpand() *cobra.Command {
	o := &expandOptions{output: "yaml", cluster: newClusterFlags(), rules: newRuleFlags()}
	cmd := &cobra.Command{
		Use:   "expand -f FILE [flags]",
		Short: "Print one node PVC per node from a template",
		Long: `Expand prints, for each PersistentVolumeClaim in the input, one node PVC per
Node, named as pods wait for it: for kubectl apply -f -, or for a repository. It
changes nothing. Everything in the template's spec, its labels and its
annotations are kept, but for what a cluster writes; the labels that make a node
PVC are added. A selected-node annotation becomes each node's own. The order is
that of templates, then of node names.

With --prune it prints, instead, the node PVCs of the same claims that are in
the cluster and whose node does not exist, or is not selected any more. It
deletes nothing: read it, then kubectl delete -f -. Their data goes with them.
Taints do not count there, and where no Node is selected at all, nothing is
printed.

Exit codes: 0, 1 if a node PVC can't be made, 2 if the input or the cluster
can't be read or the command line is wrong. On failure there is no output.`,
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

// addFlags gives the command its flags: of the rules, those that names and labels depend on.
func (o *expandOptions) addFlags(cmd *cobra.Command) {
	addSections(cmd,
		newSection("Input and output", o.addTo),
		newSection("Cluster (default: the kubeconfig, else the cluster that this pod runs in)", o.cluster.addTo),
		newSection("Rules, as the webhook's", o.rules.adding(
			flagPreset, flagNames, flagPopulated, flagClaim, flagNode, flagRevision)),
	)
	o.bad.watch(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc(flagOutput, cobra.FixedCompletions([]string{"yaml", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

func (o *expandOptions) addTo(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&o.filenames, flagFilename, "f", o.filenames, "`FILE`, directory or - (standard input) with PersistentVolumeClaims as templates, in YAML or JSON. Repeatable")
	flags.StringVarP(&o.namespace, flagNamespace, "n", o.namespace, "`NAMESPACE` of templates that name none (default: left to kubectl apply)")
	flags.StringVarP(&o.selector, flagSelector, "l", o.selector, "for Nodes that this label `SELECTOR` matches (default: all)")
	flags.BoolVar(&o.respectTaints, flagRespectTaints, o.respectTaints, "leave out Nodes with a NoSchedule or NoExecute taint, cordoned ones among them")
	flags.StringVar(&o.claim, flagClaimName, o.claim, "node-local `CLAIM` that the PVCs serve (default: the template's claim label, else its name)")
	flags.StringVar(&o.revision, flagDataRevision, o.revision, "`REVISION` of the data (default: the template's revision label)")
	flags.BoolVar(&o.prune, flagPrune, o.prune, "print the node PVCs in the cluster that are of no selected Node, instead, for kubectl delete -f -")
	flags.StringVarP(&o.output, flagOutput, "o", o.output, "`FORMAT` of the output: yaml or json")
}

// validate gives the rules and the selector, or everything that is wrong with the flags.
func (o *expandOptions) validate() (*claim.Rules, labels.Selector, []error) {
	errs := append([]error{}, o.bad.errs...)
	errs = append(errs, checkFilenames(o.filenames)...)
	if o.claim != "" && !claim.IsClaimName(o.claim) {
		errs = append(errs, flagError(flagClaimName, "%q is no label value, so no PVC can bear it", o.claim))
	}
	if _, ok := objectPrinters()[o.output]; !ok {
		errs = append(errs, flagError(flagOutput, "%q must be yaml or json", o.output))
	}
	selector, err := parseSelector(o.selector)
	errs = append(append(errs, err), o.cluster.validate()...)
	rules, ruleErrs := o.rules.rules()
	errs = append(errs, ruleErrs...)
	if len(ruleErrs) == 0 && rules.Names == "" && !o.prune {
		errs = append(errs, flagError(flagNames, "is empty: expand needs one to name PVCs"))
	}
	return &rules, selector, withoutNil(errs)
}

// run prints what the templates give, or with --prune what they do not give any more.
func (o *expandOptions) run(ctx context.Context, rules *claim.Rules, selector labels.Selector, io streams) error {
	templates, errs := o.loadTemplates(rules, io)
	if len(errs) > 0 {
		return io.fail(exitCantTell, errs...)
	}
	inv, _, err := o.cluster.inventory(ctx, rules, o.needs(rules, templates))
	if err != nil {
		return io.fail(exitCantTell, err)
	}
	nodes := inv.selected(selector)
	if len(nodes) == 0 {
		return io.fail(exitFailure, o.noNodes(len(inv.nodes)))
	}
	var objects []map[string]any
	if o.prune {
		objects = o.unmatched(inv, templates, nodes, io)
	} else if objects, errs = o.expand(inv, templates, nodes, io); len(errs) > 0 {
		return io.fail(exitFailure, errs...)
	}
	if err := objectPrinters()[o.output](io.out, objects); err != nil {
		return io.fail(exitFailure, fmt.Errorf("write the PVCs: %w", err))
	}
	return nil
}

// noNodes is the failure to find a Node. It ends prune, too: a mistyped
// selector must not list every PVC for deletion.
func (o *expandOptions) noNodes(all int) error {
	if all == 0 {
		return errors.New("the cluster has no Node")
	}
	return fmt.Errorf("no Node matches --%s %q (of %d)", flagSelector, o.selector, all)
}

// needs are the lists to read: PVCs only to find those to prune.
func (o *expandOptions) needs(rules *claim.Rules, templates []*expandTemplate) inventoryNeeds {
	n := inventoryNeeds{selector: rules.Keys.Claim}
	if o.prune {
		for _, t := range o.inCluster(templates) {
			n.namespaces = append(n.namespaces, t.Namespace)
		}
		slices.Sort(n.namespaces)
		n.namespaces = slices.Compact(n.namespaces)
	}
	return n
}

// expand gives the node PVCs, but for tainted nodes if those are to be left out.
func (o *expandOptions) expand(inv *inventory, templates []*expandTemplate, nodes []string, io streams) ([]map[string]any, []error) {
	if o.respectTaints {
		var tainted []string
		if nodes, tainted = inv.untainted(nodes); len(nodes) == 0 {
			return nil, []error{fmt.Errorf("each of the %d Nodes has a NoSchedule or NoExecute taint", len(tainted))}
		}
		if len(tainted) > 0 {
			io.say("left out for their taints: %s", strings.Join(tainted, ", "))
		}
	}
	pvcs, errs := claim.Expand(inv.rules, parts(templates), nodes)
	var out []map[string]any
	for _, pvc := range pvcs {
		out = append(out, templates[pvc.Template].object(pvc))
	}
	return out, errs
}

// untainted are the Nodes of these that pods can be scheduled to, and the others.
func (inv *inventory) untainted(nodes []string) (untainted, tainted []string) {
	view := inv.store.View()
	for _, name := range nodes {
		if view.Node(name).Repels() {
			tainted = append(tainted, name)
			continue
		}
		untainted = append(untainted, name)
	}
	return untainted, tainted
}

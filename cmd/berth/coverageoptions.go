package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"berth.dev/berth/webhook/claim"
)

// The names of the flags that coverage and expand have and review has not.
const (
	flagAllNamespaces = "all-namespaces"
	flagClaimName     = "claim"
)

// coverageOptions are the flags of coverage.
type coverageOptions struct {
	namespace     string
	allNamespaces bool
	claims        []string
	selector      string
	filenames     []string
	output        string
	cluster       *clusterFlags
	rules         *ruleFlags
	bad           badValues
}

// newCoverageOptions has the defaults.
func newCoverageOptions() *coverageOptions {
	return &coverageOptions{output: "table", cluster: newClusterFlags(), rules: newRuleFlags()}
}

// addFlags gives the command its flags: of the rules, those that states depend on.
func (o *coverageOptions) addFlags(cmd *cobra.Command) {
	addSections(cmd,
		newSection("What to look at", o.addTo),
		newSection("Cluster (default: the kubeconfig, else the cluster that this pod runs in)", o.cluster.addTo),
		newSection("Rules, as the webhook's", o.rules.adding(
			flagPreset, flagPopulated, flagRequired, flagClaim, flagNode, flagRevision, flagScope, flagTopology)),
	)
	o.bad.watch(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc(flagOutput, cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
}

func (o *coverageOptions) addTo(flags *pflag.FlagSet) {
	flags.StringVarP(&o.namespace, flagNamespace, "n", o.namespace, "`NAMESPACE` to look at, and that of a DaemonSet that names none (default: the kubeconfig's, else default)")
	flags.BoolVarP(&o.allNamespaces, flagAllNamespaces, "A", o.allNamespaces, "look at all namespaces")
	flags.StringSliceVar(&o.claims, flagClaimName, o.claims, "look at this node-local `CLAIM` only, even if it has no node PVC yet. Repeatable")
	flags.StringVarP(&o.selector, flagSelector, "l", o.selector, "look at Nodes that this label `SELECTOR` matches only (default: all)")
	flags.StringSliceVarP(&o.filenames, flagFilename, "f", o.filenames, "`FILE`, directory or - (standard input) with DaemonSets: look at what their pods would get, on the Nodes that they would run on. Repeatable")
	flags.StringVarP(&o.output, flagOutput, "o", o.output, "`FORMAT` of the output: table or json")
}

// validate gives the rules and the selector, or everything that is wrong with the flags.
func (o *coverageOptions) validate() (*claim.Rules, labels.Selector, []error) {
	errs := append(slices.Clone(o.bad.errs), checkStdin(o.filenames)...)
	switch {
	case o.allNamespaces && o.namespace != "":
		errs = append(errs, flagError(flagAllNamespaces, "can't be given together with --%s", flagNamespace))
	case o.allNamespaces && len(o.filenames) > 0:
		errs = append(errs, flagError(flagAllNamespaces, "has no meaning with --%s: a DaemonSet is in one", flagFilename))
	}
	for _, name := range o.claims {
		if !claim.IsClaimName(name) {
			errs = append(errs, flagError(flagClaimName, "%q is no label value, so no PVC can bear it", name))
		}
	}
	if _, ok := coveragePrinters()[o.output]; !ok {
		errs = append(errs, flagError(flagOutput, "%q must be table or json", o.output))
	}
	selector, err := parseSelector(o.selector)
	errs = append(append(errs, err), o.cluster.validate()...)
	rules, ruleErrs := o.rules.rules()
	return &rules, selector, withoutNil(append(errs, ruleErrs...))
}

// lookAt is the namespace to look at, "" for all.
func (o *coverageOptions) lookAt() string {
	if o.allNamespaces {
		return metav1.NamespaceAll
	}
	return o.cluster.namespaceOr(o.namespace)
}

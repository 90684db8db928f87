package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"berth.dev/berth/webhook/claim"
)

// The names of review's own flags.
const (
	flagFilename  = "filename"
	flagRecursive = "recursive"
	flagNamespace = "namespace"
	flagOutput    = "output"
)

// reviewOptions are the flags of review.
type reviewOptions struct {
	filenames []string
	recursive bool
	namespace string
	output    string
	cluster   *clusterFlags
	rules     *ruleFlags
	bad       badValues
}

// newReviewOptions has the defaults.
func newReviewOptions() *reviewOptions {
	return &reviewOptions{output: "text", cluster: newClusterFlags(), rules: newRuleFlags()}
}

// addFlags gives the command its flags.
func (o *reviewOptions) addFlags(cmd *cobra.Command) {
	addSections(cmd,
		newSection("Input and output", o.addTo),
		newSection("Cluster (default: the kubeconfig, else the cluster that this pod runs in)", o.cluster.addTo),
		newSection("Rules, as the webhook's", o.rules.addTo),
	)
	o.bad.watch(cmd.Flags())
}

func (o *reviewOptions) addTo(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&o.filenames, flagFilename, "f", o.filenames, "`FILE`, directory or - (standard input) with manifests or AdmissionReviews, in YAML or JSON. Repeatable")
	flags.BoolVarP(&o.recursive, flagRecursive, "R", o.recursive, "look into the directories of directories, too")
	flags.StringVarP(&o.namespace, flagNamespace, "n", o.namespace, "`NAMESPACE` of objects that name none (default: the kubeconfig's, else default)")
	flags.StringVarP(&o.output, flagOutput, "o", o.output, "`FORMAT` of the output: text, json or yaml")
}

// validate gives the rules, or everything that is wrong with the flags.
func (o *reviewOptions) validate() (*claim.Rules, []error) {
	errs := o.bad.errs
	errs = append(errs, checkFilenames(o.filenames)...)
	if _, ok := reviewPrinters()[o.output]; !ok {
		errs = append(errs, flagError(flagOutput, "%q must be text, json or yaml", o.output))
	}
	errs = append(errs, o.cluster.validate()...)
	rules, ruleErrs := o.rules.rules()
	return &rules, withoutNil(append(errs, ruleErrs...))
}

// checkFilenames holds that there is input, and that it can be read.
func checkFilenames(names []string) []error {
	if len(names) == 0 {
		return []error{flagError(flagFilename, "is missing: give a file, a directory or - for standard input")}
	}
	return checkStdin(names)
}

// checkStdin holds that standard input is read once.
func checkStdin(names []string) []error {
	stdins := 0
	for _, name := range names {
		if name == stdinName {
			stdins++
		}
	}
	if stdins > 1 {
		return []error{flagError(flagFilename, "standard input can be read only once")}
	}
	return nil
}

// nowhere tells that nothing says where a cluster is.
func (o *reviewOptions) nowhere() bool {
	raw, err := o.cluster.kube.ToRawKubeConfigLoader().RawConfig()
	if err != nil || len(raw.Clusters) > 0 || *o.cluster.kube.APIServer != "" {
		return false
	}
	_, err = rest.InClusterConfig()
	return errors.Is(err, rest.ErrNotInCluster)
}

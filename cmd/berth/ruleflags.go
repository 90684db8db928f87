package main

import (
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"berth.dev/berth/webhook/claim"
)

// The names of the rule flags that messages need.
const (
	flagMissing   = "missing-node-pvc"
	flagNames     = "node-pvc-name-template"
	flagPopulated = "populated-annotation"
	flagRequired  = "populated-required"
	flagClaim     = "claim-label"
	flagNode      = "node-label"
	flagRevision  = "revision-label"
	flagScope     = "claim-scope-label"
	flagTopology  = "node-topology-keys"
	flagPreset    = "preset"
)

// ruleFlags are the administrator's choices, for every command that decides.
type ruleFlags struct {
	flags     *pflag.FlagSet // tells which were given
	preset    string
	missing   string
	names     string
	populated string
	required  bool
	claim     string
	node      string
	revision  string
	scope     string
	topology  []string
}

// newRuleFlags has the values of the default rules.
func newRuleFlags() *ruleFlags {
	r := claim.DefaultRules()
	return &ruleFlags{
		missing: string(r.Missing), names: string(r.Names),
		populated: r.Keys.PopulatedKey + "=" + r.Keys.PopulatedValue, required: r.PopulatedRequired,
		claim: r.Keys.Claim, node: r.Keys.Node, revision: r.Keys.Revision, scope: r.Keys.Scope, topology: r.Keys.Topology,
	}
}

func (f *ruleFlags) addTo(flags *pflag.FlagSet) {
	f.flags = flags
	flags.StringVar(&f.preset, flagPreset, f.preset, "set the label keys and the name template for another operator's PVCs: `gkm` (GPU Kernel Manager). A flag that is given wins over the preset")
	flags.StringVar(&f.missing, flagMissing, f.missing, "what becomes of a pod whose node has no node PVC: `POLICY` deny refuses it; pend admits it under the name that the template gives; auto pends where that name is predictable")
	flags.StringVar(&f.names, flagNames, f.names, "how node PVCs are named: `TEMPLATE` of {claim}, {node} and {revision}; empty if names are not predictable")
	flags.StringVar(&f.populated, flagPopulated, f.populated, "annotation `KEY=VALUE` of a PVC that says that it is filled")
	flags.BoolVar(&f.required, flagRequired, f.required, "take a PVC without that annotation as not filled")
	flags.StringVar(&f.claim, flagClaim, f.claim, "label `KEY` of a PVC: the node-local claim that it serves")
	flags.StringVar(&f.node, flagNode, f.node, "label (or annotation) `KEY` of a PVC: the node whose data it holds")
	flags.StringVar(&f.revision, flagRevision, f.revision, "label `KEY` of a PVC: the version of its data")
	flags.StringVar(&f.scope, flagScope, f.scope, "label `KEY` of a PVC that tells claims of one name apart; empty for none")
	flags.StringSliceVar(&f.topology, flagTopology, f.topology, "label `KEYS` of Nodes, besides kubernetes.io/hostname, whose value names one node")
	flags.Lookup(flagTopology).DefValue = strings.Join(f.topology, ", ") // with spaces, so that help can wrap it
}

// adding gives a command only these of the flags; the others keep their defaults.
func (f *ruleFlags) adding(names ...string) func(*pflag.FlagSet) {
	return func(flags *pflag.FlagSet) {
		f.addTo(pflag.NewFlagSet("rules", pflag.ContinueOnError))
		for _, name := range names {
			flags.AddFlag(f.flags.Lookup(name))
		}
	}
}

// rules are the rules that the flags make, or everything that is wrong with them.
func (f *ruleFlags) rules() (claim.Rules, []error) {
	r, errs := f.base()
	set := map[string]*string{flagClaim: &r.Keys.Claim, flagNode: &r.Keys.Node, flagRevision: &r.Keys.Revision, flagScope: &r.Keys.Scope}
	for name, value := range map[string]string{flagClaim: f.claim, flagNode: f.node, flagRevision: f.revision, flagScope: f.scope} {
		if f.flags.Changed(name) {
			*set[name] = value
		}
	}
	if f.flags.Changed(flagNames) {
		r.Names = claim.NameTemplate(f.names)
	}
	r.Missing, r.PopulatedRequired, r.Keys.Topology = claim.MissingPolicy(f.missing), f.required, f.topology
	key, value, ok := strings.Cut(f.populated, "=")
	if !ok || value == "" {
		errs = append(errs, flagError(flagPopulated, "%q must be KEY=VALUE", f.populated))
	}
	r.Keys.PopulatedKey, r.Keys.PopulatedValue = key, value
	return r, append(errs, checkRules(&r)...)
}

// base are the rules that the given flags are laid over.
func (f *ruleFlags) base() (claim.Rules, []error) {
	switch f.preset {
	case "":
		return claim.DefaultRules(), nil
	case "gkm":
		return claim.GKMRules(), nil
	default:
		return claim.DefaultRules(), []error{flagError(flagPreset, "%q is unknown: use gkm", f.preset)}
	}
}

// checkRules tells what is wrong with rules, by the flag that sets it.
func checkRules(r *claim.Rules) []error {
	var errs []error
	switch r.Missing {
	case claim.MissingAuto, claim.MissingPend, claim.MissingDeny:
	default:
		errs = append(errs, flagError(flagMissing, "%q must be auto, pend or deny", string(r.Missing)))
	}
	if err := r.Names.Validate(); err != nil {
		errs = append(errs, flagError(flagNames, "%w", err))
	}
	errs = append(errs, checkPVCKeys(&r.Keys)...)
	return append(errs, checkTopology(r.Keys.Topology)...)
}

// checkPVCKeys holds that the keys on PVCs are keys, and each another one.
func checkPVCKeys(k *claim.Keys) []error {
	var errs []error
	owner := map[string]string{}
	for _, key := range []struct{ flag, value string }{
		{flagClaim, k.Claim}, {flagNode, k.Node}, {flagRevision, k.Revision}, {flagScope, k.Scope}, {flagPopulated, k.PopulatedKey},
	} {
		if key.flag == flagScope && key.value == "" {
			continue
		}
		if problem := keyProblem(key.value); problem != "" {
			errs = append(errs, flagError(key.flag, "%s", problem))
			continue
		}
		if other, taken := owner[key.value]; taken {
			errs = append(errs, flagError(key.flag, "%q is the key of --%s already", key.value, other))
			continue
		}
		owner[key.value] = key.flag
	}
	return errs
}

// checkTopology holds that the keys on Nodes are keys, and each another one. One
// may be a key on PVCs, too: a PVC may be labelled as its Node is.
func checkTopology(keys []string) []error {
	var errs []error
	seen := map[string]bool{}
	for _, key := range keys {
		switch problem := keyProblem(key); {
		case problem != "":
			errs = append(errs, flagError(flagTopology, "%s", problem))
		case key == corev1.LabelHostname:
			errs = append(errs, flagError(flagTopology, "%q is always a node's identity: leave it out", key))
		case seen[key]:
			errs = append(errs, flagError(flagTopology, "%q is named twice", key))
		}
		seen[key] = true
	}
	return errs
}

// keyProblem says why a label or annotation key is none, "" if it is.
func keyProblem(key string) string {
	if key == "" {
		return "must not be empty"
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return "\"" + key + "\" is no label key: " + strings.Join(problems, "; ")
	}
	return ""
}

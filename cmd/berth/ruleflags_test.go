package main

import (
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/claim"
)

// rulesOf are the rules that arguments make.
func rulesOf(t *testing.T, args ...string) (claim.Rules, []error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f := newRuleFlags()
	f.addTo(flags)
	require.NoError(t, flags.Parse(args))
	return f.rules()
}

func TestRules(t *testing.T) {
	cases := map[string]struct {
		args []string
		want func(*claim.Rules) // changes the default rules
	}{
		"without flags, the default rules": {nil, func(*claim.Rules) {}},
		"every flag sets its rule": {
			[]string{
				"--missing-node-pvc=deny", "--node-pvc-name-template={node}.{claim}", "--populated-annotation=cdi.kubevirt.io/storage.pod.phase=Succeeded",
				"--populated-required", "--claim-label=a/c", "--node-label=a/n", "--revision-label=a/r", "--claim-scope-label=a/s", "--node-topology-keys=t/a,t/b",
			},
			func(r *claim.Rules) {
				*r = claim.Rules{
					Missing: claim.MissingDeny, Names: "{node}.{claim}", PopulatedRequired: true,
					Keys: claim.Keys{
						Claim: "a/c", Node: "a/n", Revision: "a/r", Scope: "a/s", Topology: []string{"t/a", "t/b"},
						PopulatedKey: "cdi.kubevirt.io/storage.pod.phase", PopulatedValue: "Succeeded",
					},
				}
			},
		},
		"the preset sets its keys and no template": {[]string{"--preset=gkm"}, func(r *claim.Rules) { *r = claim.GKMRules() }},
		"a flag wins over the preset, before or after it": {
			[]string{"--claim-label=mine", "--preset=gkm", "--node-pvc-name-template={claim}-{node}"},
			func(r *claim.Rules) {
				*r = claim.GKMRules()
				r.Keys.Claim, r.Names = "mine", "{claim}-{node}"
			},
		},
		"a flag that repeats the default wins over the preset": {
			[]string{"--preset=gkm", "--claim-label=berth.dev/claim", "--claim-scope-label="},
			func(r *claim.Rules) {
				*r = claim.GKMRules()
				r.Keys.Claim, r.Keys.Scope = "berth.dev/claim", ""
			},
		},
		"an empty template is allowed":                 {[]string{"--node-pvc-name-template="}, func(r *claim.Rules) { r.Names = "" }},
		"the populated value may hold an equals sign":  {[]string{"--populated-annotation=k=a=b"}, func(r *claim.Rules) { r.Keys.PopulatedKey, r.Keys.PopulatedValue = "k", "a=b" }},
		"no topology keys are allowed":                 {[]string{"--node-topology-keys="}, func(r *claim.Rules) { r.Keys.Topology = []string{} }},
		"a PVC may be labelled with a Node's identity": {[]string{"--node-label=topology.topolvm.io/node"}, func(r *claim.Rules) { r.Keys.Node = "topology.topolvm.io/node" }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := claim.DefaultRules()
			tc.want(&want)
			got, errs := rulesOf(t, tc.args...)
			assert.Empty(t, errs)
			assert.Equal(t, want, got)
		})
	}
}

func TestBadRules(t *testing.T) {
	cases := map[string]struct {
		args []string
		want []string // what each error begins with
	}{
		"a template that can't tell nodes apart": {[]string{"--node-pvc-name-template={claim}"}, []string{"--node-pvc-name-template: "}},
		"a template with an unknown placeholder": {[]string{"--node-pvc-name-template={claim}-{node}-{pod}"}, []string{"--node-pvc-name-template: unknown placeholder {pod}"}},
		"a populated annotation without value":   {[]string{"--populated-annotation=done"}, []string{`--populated-annotation: "done" must be KEY=VALUE`}},
		"a populated annotation with no key":     {[]string{"--populated-annotation==true"}, []string{"--populated-annotation: must not be empty"}},
		"keys that are none": {
			[]string{"--claim-label=a b", "--node-label=-", "--revision-label=", "--claim-scope-label=a/b/c", "--node-topology-keys=ok,not ok"},
			[]string{
				`--claim-label: "a b" is no label key`, `--node-label: "-" is no label key`, "--revision-label: must not be empty",
				`--claim-scope-label: "a/b/c" is no label key`, `--node-topology-keys: "not ok" is no label key`,
			},
		},
		"keys that are the same": {
			[]string{"--node-label=berth.dev/claim", "--claim-scope-label=berth.dev/revision", "--populated-annotation=berth.dev/claim=true"},
			[]string{
				`--node-label: "berth.dev/claim" is the key of --claim-label already`,
				`--claim-scope-label: "berth.dev/revision" is the key of --revision-label already`,
				`--populated-annotation: "berth.dev/claim" is the key of --claim-label already`,
			},
		},
		"a key that the preset has already": {[]string{"--preset=gkm", "--claim-label=digest"}, []string{`--revision-label: "digest" is the key of --claim-label already`}},
		"topology keys that say nothing new": {
			[]string{"--node-topology-keys=kubernetes.io/hostname,a,a"},
			[]string{`--node-topology-keys: "kubernetes.io/hostname" is always`, `--node-topology-keys: "a" is named twice`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, errs := rulesOf(t, tc.args...)
			require.Len(t, errs, len(tc.want), "%v", errs)
			for i, want := range tc.want {
				assert.Contains(t, errs[i].Error(), want)
			}
		})
	}
}

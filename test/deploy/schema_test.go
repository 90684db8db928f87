package deploy_test

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestNonsenseIsRefused: values that mean nothing are refused before anything is
// installed, and the message names them.
func TestNonsenseIsRefused(t *testing.T) {
	cases := map[string]struct{ set, says string }{
		"a name that is misspelt":         {`replicaCount=3`, "replicaCount"},
		"a name that is misspelt, below":  {`image.pullpolicy="Always"`, "pullpolicy"},
		"no replicas":                     {`replicas=0`, "replicas"},
		"replicas in words":               {`replicas="two"`, "replicas"},
		"a digest that is a tag":          {`image.digest="v1"`, "digest"},
		"a tag within the repository":     {`image.repository="ghcr.io/berth-dev/berth:v1"`, "repository"},
		"a pull policy":                   {`image.pullPolicy="Sometimes"`, "pullPolicy"},
		"a policy for missing PVCs":       {`missingNodePVC="wait"`, "missingNodePVC"},
		"a placeholder of the template":   {`nodePVCNameTemplate="{claim}-{host}"`, "nodePVCNameTemplate"},
		"a label key with two slashes":    {`labelKeys.claim="a/b/c"`, "claim"},
		"a label key that ends a string":  {`labelKeys.node="x\" in y || \"z"`, "node"},
		"a label key for nothing":         {`labelKeys.digest="x"`, "digest"},
		"a populated annotation":          {`populatedAnnotation="ready"`, "populatedAnnotation"},
		"a preset":                        {`preset="cdi"`, "preset"},
		"a failure policy":                {`failurePolicy="Warn"`, "failurePolicy"},
		"a namespace in capitals":         {`excludedNamespaces=["Kube-Public"]`, "excludedNamespaces"},
		"all groups":                      {`extraWorkloads=[{"apiGroups":["*"],"apiVersions":["v1"],"resources":["rollouts"]}]`, "extraWorkloads"},
		"a subresource":                   {`extraWorkloads=[{"apiGroups":["argoproj.io"],"apiVersions":["v1alpha1"],"resources":["rollouts/scale"]}]`, "extraWorkloads"},
		"a duration in days":              {`certificate.duration="90d"`, "duration"},
		"a renewal after the end":         {`certificate.renewBefore="2160h"`, "certificate.renewBefore must be shorter than certificate.duration"},
		"a CA renewed after its end":      {`certificate.ca.duration="8760h"`, "certificate.ca.renewBefore must be shorter"},
		"a CA renewed too late":           {`certificate.ca.renewBefore="720h"`, "could outlive its CA"},
		"a log format":                    {`logFormat="logfmt"`, "logFormat"},
		"a log level":                     {`logLevel="trace"`, "logLevel"},
		"HTTP/2 in words":                 {`http2="no"`, "http2"},
		"a flag without dashes":           {`extraArgs=["http2"]`, "extraArgs"},
		"a flag that a value sets":        {`extraArgs=["--claim-label=example.com/claim"]`, "extraArgs"},
		"a switch that a value sets":      {`extraArgs=["--populated-required"]`, "extraArgs"},
		"a delay with a unit":             {`shutdownDelaySeconds="5s"`, "shutdownDelaySeconds"},
		"a port that is none":             {`networkPolicy.apiServerPorts=[70000]`, "apiServerPorts"},
		"a label that is the chart's":     {`podLabels={"app.kubernetes.io/name":"x"}`, "app.kubernetes.io/name"},
		"a toleration that is misspelt":   {`tolerations=[{"key":"x","operater":"Exists"}]`, "operater"},
		"a name that is no name":          {`fullnameOverride="Berth!"`, "fullnameOverride"},
		"a priority that is a number":     {`priorityClassName=1000`, "priorityClassName"},
		"resources for what isn't there":  {`resources.request={"cpu":"1"}`, "request"},
		"an issuer reference by string":   {`certificate.issuerRef="company"`, "issuerRef"},
		"a topology key that is no key":   {`nodeTopologyKeys=["a b"]`, "nodeTopologyKeys"},
		"an annotation that is no string": {`podAnnotations={"a":1}`, "podAnnotations"},
		"whether to create, in words":     {`namespace.create="yes"`, "create"},
		"something on the Service":        {`service.type="NodePort"`, "type"},
		"the node selector as a list":     {`nodeSelector=["linux"]`, "nodeSelector"},
		"a monitor's interval":            {`monitoring.serviceMonitor.interval="often"`, "interval"},
		"rules of one's own":              {`monitoring.prometheusRule.rules=[]`, "rules"},
	}
	defaults := variants(t)["defaults"]
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := template(defaults, tc.set)
			require.Error(t, err)
			assert.Contains(t, err.Error(), tc.says)
		})
	}
}

// TestBerthHasANamespaceOfItsOwn: the pod security level and the quota for
// critical pods would hold for the cluster's own pods, too.
func TestBerthHasANamespaceOfItsOwn(t *testing.T) {
	v := variants(t)["defaults"]
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		v.namespace = namespace
		_, err := template(v)
		require.ErrorContains(t, err, "a namespace of its own, not in "+namespace)
	}
}

// TestExtraArgsSetNothingThatAValueSets: a flag that the chart gives can't be
// given twice; the ports, conditions and volumes would not follow it.
func TestExtraArgsSetNothingThatAValueSets(t *testing.T) {
	defaults := variants(t)["defaults"]
	for flag := range flags(render(t, variants(t)["everything"])) {
		_, err := template(defaults, `extraArgs=["--`+flag+`=x"]`)
		if flag == "max-request-bytes" { // the one that stands in extraArgs
			require.NoError(t, err)
			continue
		}
		assert.Error(t, err, "--%s", flag)
	}
}

// TestEveryValueIsInTheSchema: values.yaml shows every value that the schema allows.
func TestEveryValueIsInTheSchema(t *testing.T) {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	var values map[string]any
	read(t, chart+"/values.schema.json", &schema)
	read(t, chart+"/values.yaml", &values)
	delete(schema.Properties, "global") // Helm's own
	assert.ElementsMatch(t, slices.Collect(maps.Keys(schema.Properties)), slices.Collect(maps.Keys(values)))
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, into))
}

// TestNotes: what is printed after an install names what to do next, with the
// label keys that hold.
func TestNotes(t *testing.T) {
	cases := map[string]struct {
		variant string
		says    []string
	}{
		"the defaults": {"defaults", []string{
			"kubectl label namespace NAMESPACE berth.dev/admission=enabled", "berth.dev/claim: model-cache", "berth.dev/node: NODE",
			"-n berth-system get", "DaemonSet", "failurePolicy is Fail",
		}},
		"the keys of a preset": {"gkm", []string{"cache-name: model-cache", "  node: NODE"}},
		"one replica":          {"single", []string{"One replica", "kubectl label namespace infra pod-security.kubernetes.io/enforce=restricted", "-n infra get", "example.com/node: NODE"}},
		"pods that fail open":  {"everything", []string{"failurePolicy is Ignore", "example.com/claim: model-cache"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := variants(t)[tc.variant]
			args := []string{"install", v.release, chart, "--namespace", v.namespace, "--dry-run=client"}
			for _, file := range v.values {
				args = append(args, "--values", file)
			}
			printed, err := output(tools.helm, args...)
			require.NoError(t, err)
			_, notes, found := strings.Cut(printed, "NOTES:\n")
			require.True(t, found)
			for _, text := range tc.says {
				assert.Contains(t, notes, text)
			}
		})
	}
}

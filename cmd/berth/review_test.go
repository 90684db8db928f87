package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/lookup"
)

func emptyStore() *lookup.Store {
	rules := claim.DefaultRules()
	return lookup.NewStore(&rules)
}

// reviewed is what a command line of review ended in.
type reviewed struct {
	code           int
	stdout, stderr string
}

// results are the results of -o json.
func (r reviewed) results(t *testing.T) []reviewResult {
	t.Helper()
	var out []reviewResult
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &out), r.stdout)
	return out
}

// review runs berth review as if no cluster were known, but for the flags.
func review(t *testing.T, stdin string, args ...string) reviewed {
	t.Helper()
	return runOffline(t, stdin, append([]string{"review"}, args...)...)
}

// runOffline runs a command line as if no cluster were known, but for the flags.
func runOffline(t *testing.T, stdin string, args ...string) reviewed {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	var out, errOut bytes.Buffer
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errOut)
	cmd, err := root.ExecuteContextC(t.Context())
	var code int
	var exit exitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		code = int(exit)
	default:
		code = report(&errOut, cmd.CommandPath(), err)
	}
	return reviewed{code, out.String(), errOut.String()}
}

// writeTestFile makes a file of a test's own.
func writeTestFile(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// joinDocs joins objects to a file of several documents.
func joinDocs(objects ...string) string { return strings.Join(objects, "\n---\n") }

func nodeYAML(name string) string {
	return "{apiVersion: v1, kind: Node, metadata: {name: " + name + ", labels: {kubernetes.io/hostname: " + name + "}}}"
}

// boundPVC is a node PVC of the claim weights, with its data.
func boundPVC(node string) string {
	return "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: weights-" + node + ", namespace: lab, labels: {berth.dev/claim: weights, berth.dev/node: " + node + "}}, " +
		"spec: {volumeName: pv-" + node + "}, status: {phase: Bound}}\n---\n" +
		"{apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-" + node + "}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [" +
		"{key: kubernetes.io/hostname, operator: In, values: [" + node + "]}]}]}}}, status: {phase: Bound}}"
}

func namespaceYAML(name, labels string) string {
	return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + ", labels: {" + labels + "}}}"
}

// podSpec mounts the claim weights, pinned to a node or not.
func podSpec(node string) string {
	selector := ""
	if node != "" {
		selector = "nodeSelector: {kubernetes.io/hostname: " + node + "}, "
	}
	return "{" + selector + "containers: [{name: c, image: example.com/c}], volumes: [{name: data, persistentVolumeClaim: {claimName: weights}}]}"
}

func podYAML(name, node string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: " + podSpec(node) + "}"
}

func workloadYAML(version, kind, name, node string) string {
	return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: " + name + "}, spec: {template: {spec: " + podSpec(node) + "}}}"
}

// labCluster has two nodes, one with the data.
func labCluster(t *testing.T) string {
	t.Helper()
	return writeTestFile(t, "cluster.yaml", joinDocs(nodeYAML("rome"), nodeYAML("oslo"), boundPVC("rome"), namespaceYAML("lab", "berth.dev/admission: enabled"), namespaceYAML("late", "")))
}

func TestReviewVerdicts(t *testing.T) {
	const disabled = "labels: {berth.dev/admission: disabled}"
	cases := map[string]struct {
		in      string
		args    []string
		code    int
		verdict string // of the last object
		reason  string
		says    string
	}{
		"a pinned pod is rewritten":                    {in: podYAML("p", "rome"), verdict: "rewritten"},
		"an unpinned pod is refused":                   {in: podYAML("p", ""), code: 1, verdict: "refused", reason: "NotPinned", says: `"weights"`},
		"an unpinned Deployment is refused, naming it": {in: workloadYAML("apps/v1", "Deployment", "chat", ""), code: 1, verdict: "refused", reason: "NotPinned", says: `Deployment "chat"`},
		"a pinned Deployment is admitted":              {in: workloadYAML("apps/v1", "Deployment", "chat", "rome"), verdict: "admitted"},
		"an unpinned CronJob is refused, naming it": {
			in:   "{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly}, spec: {jobTemplate: {spec: {template: {spec: " + podSpec("") + "}}}}}",
			code: 1, verdict: "refused", reason: "NotPinned", says: `CronJob "nightly"`,
		},
		"a DaemonSet is admitted":                                    {in: workloadYAML("apps/v1", "DaemonSet", "reader", ""), verdict: "admitted"},
		"an unpinned Rollout is refused":                             {in: workloadYAML("argoproj.io/v1alpha1", "Rollout", "chat", ""), code: 1, verdict: "refused", reason: "NotPinned"},
		"a kind that nobody told Berth about is admitted":            {in: workloadYAML("example.com/v1", "Fleet", "f", ""), verdict: "admitted"},
		"a Service is admitted":                                      {in: "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: late}}", verdict: "admitted"},
		"a namespace that is not opted in is skipped":                {in: podYAML("p", ""), args: []string{"-n", "late"}, verdict: "skipped", says: `namespace "late" is not opted in`},
		"a namespace that is not known counts as opted in":           {in: podYAML("p", "rome"), args: []string{"-n", "elsewhere", "--missing-node-pvc", "deny"}, verdict: "admitted"},
		"kube-system is skipped though it is labelled":               {in: joinDocs(namespaceYAML("kube-system", "berth.dev/admission: enabled"), podYAML("p", "")), args: []string{"-n", "kube-system"}, verdict: "skipped", says: "kube-system"},
		"an object that opts out is skipped":                         {in: strings.Replace(podYAML("p", ""), "name: p", "name: p, "+disabled, 1), verdict: "skipped", says: "berth.dev/admission: disabled"},
		"a template that opts out changes nothing for its workload":  {in: strings.Replace(workloadYAML("apps/v1", "Deployment", "d", ""), "template: {", "template: {metadata: {"+disabled+"}, ", 1), code: 1, verdict: "refused", reason: "NotPinned"},
		"a namespace that the input labels is opted in":              {in: joinDocs(namespaceYAML("late", "berth.dev/admission: enabled"), podYAML("p", "")), args: []string{"-n", "late"}, verdict: "admitted"},
		"a namespace that the input has without the label keeps its": {in: joinDocs(namespaceYAML("lab", "team: a"), podYAML("p", "")), code: 1, verdict: "refused", reason: "NotPinned"},
		"a new namespace without the label is skipped":               {in: joinDocs(namespaceYAML("fresh", "team: a"), podYAML("p", "")), args: []string{"-n", "fresh"}, verdict: "skipped"},
		"metadata.namespace wins over -n":                            {in: strings.Replace(podYAML("p", ""), "name: p", "name: p, namespace: late", 1), verdict: "skipped"},
		"a PVC of the input counts as applied":                       {in: joinDocs(boundPVC("oslo"), podYAML("p", "oslo")), args: []string{"--missing-node-pvc", "deny"}, verdict: "rewritten"},
		"without it the same pod is refused":                         {in: podYAML("p", "oslo"), args: []string{"--missing-node-pvc", "deny"}, code: 1, verdict: "refused", reason: "NoNodePVC"},
		"a Node of the input counts as applied, though it comes last": {
			in: joinDocs(podYAML("p", "bern"), boundPVC("bern"), podYAML("q", "bern"), nodeYAML("bern"), podYAML("r", "bern")), verdict: "rewritten",
		},
		"a pod that can't be decoded can't be judged": {in: "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelector: 7}}", code: 2, verdict: "refused", reason: "InvalidObject"},
		"can't tell wins over refused, in any order":  {in: joinDocs(podYAML("p", ""), "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelector: 7}}", podYAML("q", "")), code: 2, verdict: "refused", reason: "NotPinned"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"-f", "-", "-o", "json", "--cluster-file", labCluster(t), "-n", "lab"}, tc.args...)
			got := review(t, tc.in, args...)
			assert.Equal(t, tc.code, got.code, got.stdout)
			assert.Empty(t, got.stderr)
			results := got.results(t)
			last := results[len(results)-1]
			assert.Equal(t, tc.verdict, last.Verdict)
			assert.Equal(t, tc.reason, last.Reason)
			assert.Contains(t, last.Message, tc.says)
		})
	}
}

// TestReviewOfPartlyBadInput: each problem is one line, and hides nothing else.
func TestReviewOfPartlyBadInput(t *testing.T) {
	good, bad := writeTestFile(t, "good.yaml", podYAML("p", "rome")), writeTestFile(t, "bad.yaml", joinDocs("a: [", podYAML("q", ""), "text"))
	got := review(t, "", "-f", bad, "-f", "missing.yaml", "-f", good, "-o", "json", "-n", "lab", "--cluster-file", labCluster(t))
	assert.Equal(t, 2, got.code)
	results := got.results(t)
	require.Len(t, results, 2)
	assert.Equal(t, []string{bad + ":2", "refused"}, []string{results[0].Source, results[0].Verdict})
	assert.Equal(t, []string{good + ":1", "rewritten"}, []string{results[1].Source, results[1].Verdict})
	lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
	require.Len(t, lines, 3, got.stderr)
	assert.Contains(t, lines[0], "berth review: "+bad+":1: not YAML: ")
	assert.Equal(t, "berth review: "+bad+":3: not a Kubernetes object", lines[1])
	assert.Equal(t, "berth review: can't read missing.yaml: no such file or directory", lines[2])
}

// TestReviewOfOddReviews: an AdmissionReview that the webhook could not answer
// can't be judged, and one of a change is taken as that change.
func TestReviewOfOddReviews(t *testing.T) {
	const head = "kind: AdmissionReview, request: {uid: u, kind: {group: apps, version: v1, kind: Deployment}, resource: {group: apps, version: v1, resource: deployments}, namespace: lab, name: d, "
	unpinned, pinned := workloadYAML("apps/v1", "Deployment", "d", ""), workloadYAML("apps/v1", "Deployment", "d", "rome")
	outOfIt := strings.Replace(unpinned, "name: d", "name: d, labels: {berth.dev/admission: disabled}", 1)
	change := func(from, to string) string {
		return "{apiVersion: admission.k8s.io/v1, " + head + "operation: UPDATE, oldObject: " + from + ", object: " + to + "}}"
	}
	cases := map[string]struct {
		in      string
		code    int
		verdict string
		stderr  string
	}{
		"one of another version":                            {"{apiVersion: admission.k8s.io/v1beta1, " + head + "operation: CREATE, object: " + unpinned + "}}", 2, "", "stdin:1: body is no AdmissionReview of admission.k8s.io/v1"},
		"an answer":                                         {"{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, response: {uid: u, allowed: true}}", 2, "", "stdin:1: AdmissionReview has no request"},
		"a change for the worse is refused":                 {change(pinned, unpinned), 1, "refused", ""},
		"a change that brings nothing new is admitted":      {change(unpinned, strings.Replace(unpinned, "image: example.com/c", "image: example.com/d", 1)), 0, "admitted", ""},
		"an object that was and is opted out is skipped":    {change(outOfIt, outOfIt), 0, "skipped", ""},
		"an object that opts out with the change is judged": {change(pinned, outOfIt), 1, "refused", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := review(t, tc.in, "-f", "-", "-o", "json", "--cluster-file", labCluster(t))
			assert.Equal(t, tc.code, got.code, got.stdout)
			assert.Contains(t, got.stderr, tc.stderr)
			if tc.verdict != "" {
				assert.Equal(t, tc.verdict, got.results(t)[0].Verdict)
			}
		})
	}
}

func TestReviewUsage(t *testing.T) {
	cases := map[string]struct {
		args []string
		says string
	}{
		"without -f":              {nil, "--filename: is missing"},
		"standard input twice":    {[]string{"-f", "-", "-f", "-"}, "--filename: standard input can be read only once"},
		"a format nobody knows":   {[]string{"-f", "-", "-o", "table"}, `--output: "table" must be text, json or yaml`},
		"a rule that is wrong":    {[]string{"-f", "-", "--missing-node-pvc", "perhaps"}, "--missing-node-pvc"},
		"an argument":             {[]string{"pod.yaml"}, `unexpected argument "pod.yaml"`},
		"a file and a connection": {[]string{"-f", "-", "--cluster-file", "c.yaml", "--context", "x"}, "--context: has no meaning with --cluster-file"},
		"no input":                {[]string{"-f", "-"}, "no objects in the input"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := review(t, "", tc.args...)
			assert.Equal(t, 2, got.code)
			assert.Contains(t, got.stderr, "berth review: "+tc.says)
		})
	}
}

func TestReviewExitCodeReachesTheProcess(t *testing.T) {
	file := writeTestFile(t, "pod.yaml", podYAML("p", ""))
	code, stdout, stderr := berth(t, "review", "-f", file, "-n", "lab", "--cluster-file", labCluster(t))
	assert.Equal(t, 1, code)
	assert.Contains(t, stdout, "refused")
	assert.Empty(t, stderr, "the results say it all")
}

func TestReviewYAMLIsTheSameAsJSON(t *testing.T) {
	args := []string{"-f", "-", "-n", "lab", "--cluster-file", labCluster(t), "-o"}
	asJSON, asYAML := review(t, podYAML("p", "rome"), append(args, "json")...), review(t, podYAML("p", "rome"), append(args, "yaml")...)
	fromYAML, err := yaml.YAMLToJSON([]byte(asYAML.stdout))
	require.NoError(t, err)
	assert.JSONEq(t, asJSON.stdout, string(fromYAML))
	assert.JSONEq(t, `[{"source":"stdin:1","kind":"Pod","namespace":"lab","name":"p","operation":"CREATE","verdict":"rewritten","node":"rome",
		"claims":[{"volume":"data","claim":"weights","pvc":"weights-rome"}]}]`, asJSON.stdout)
}

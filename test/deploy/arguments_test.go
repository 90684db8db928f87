package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"berth.dev/berth/webhook/claim"
)

// flags are the flags in the arguments, by name.
func flags(r *rendered) map[string]string {
	out := map[string]string{}
	for _, arg := range container(r).Args {
		if name, ok := strings.CutPrefix(arg, "--"); ok {
			name, v, _ := strings.Cut(name, "=")
			out[name] = v
		}
	}
	return out
}

// keys are the label keys that Berth reads with these arguments.
func keys(r *rendered) claim.Keys {
	args := flags(r)
	out := claim.DefaultRules().Keys
	if args["preset"] == "gkm" {
		out = claim.GKMRules().Keys
	}
	for name, key := range map[string]*string{"claim-label": &out.Claim, "node-label": &out.Node, "revision-label": &out.Revision, "claim-scope-label": &out.Scope} {
		if v, given := args[name]; given {
			*key = v
		}
	}
	return out
}

// nonsense is a flag that is refused for its value. Berth checks all flags before
// it starts, and tells everything that is wrong with them.
const (
	nonsense  = "--max-request-bytes=nonsense"
	complaint = `berth serve: --max-request-bytes: "nonsense" must be a whole number` + "\nSee 'berth serve --help'.\n"
)

// checkArguments: Berth itself takes the arguments. It is given one bad flag more,
// and must complain of that one and no other; so it never starts to serve.
func checkArguments(r *rendered) []string {
	var found problems
	args := container(r).Args
	found.unless(len(args) > 0 && args[0] == "serve", "the first argument is not serve: %v", args)
	found.unless(len(container(r).Command) == 0, "the image's entry point is overridden")
	code, stderr := runBerth(append(append([]string{}, args...), nonsense)...)
	found.unless(code == 2, "berth %s: exit code %d", strings.Join(args, " "), code)
	found.unless(stderr == complaint, "berth %s: %s", strings.Join(args, " "), stderr)
	return found
}

// runBerth gives the exit code and what is said on standard error.
func runBerth(args ...string) (int, string) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), tools.berth, args...)
	cmd.Stderr = &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), stderr.String()
	case err != nil:
		return -1, err.Error()
	}
	return 0, stderr.String()
}

// TestValuesReachTheFlags: each value of the chart sets its flag.
func TestValuesReachTheFlags(t *testing.T) {
	cases := map[string]map[string]string{
		"defaults": {"missing-node-pvc": "auto", "log-format": "json", "log-level": "info", "http2": "false", "shutdown-delay-duration": "5s"},
		"gkm":      {"preset": "gkm", "missing-node-pvc": "auto"},
		"own-issuer": {
			"node-pvc-name-template": "", "missing-node-pvc": "auto",
		},
		"single": {"missing-node-pvc": "deny", "node-label": "example.com/node", "shutdown-delay-duration": "0s"},
		"everything": {
			"preset": "gkm", "claim-label": "example.com/claim", "node-label": "example.com/node", "revision-label": "example.com/revision",
			"claim-scope-label": "example.com/scope", "node-topology-keys": "topology.example.com/node,topology.example.org/host",
			"missing-node-pvc": "pend", "node-pvc-name-template": "{claim}.{node}.{revision}", "populated-annotation": "cdi.kubevirt.io/storage.pod.phase=Succeeded",
			"populated-required": "", "log-format": "text", "log-level": "debug", "http2": "true", "max-request-bytes": "16777216", "shutdown-delay-duration": "20s",
		},
	}
	always := []string{"bind-address", "metrics-bind-address", "tls-cert-file", "tls-private-key-file", "log-format", "log-level", "http2", "shutdown-delay-duration"}
	for name, v := range variants(t) {
		t.Run(name, func(t *testing.T) {
			got, want := flags(render(t, v)), cases[name]
			for flag, expected := range want {
				value, given := got[flag]
				assert.True(t, given, "--%s is not given", flag)
				assert.Equal(t, expected, value, "--%s", flag)
				delete(got, flag)
			}
			for _, flag := range always {
				delete(got, flag)
			}
			assert.Empty(t, got, "flags that no value asks for")
		})
	}
}

package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runMain makes the test binary behave as berth itself, so that tests can start
// it as a process of its own and send it signals.
const runMain = "BERTH_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runMain) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// berth runs a command line that ends by itself.
func berth(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = execute(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

func TestRoot(t *testing.T) {
	cases := map[string]struct {
		args       []string
		wantCode   int
		wantStdout string
		wantStderr string
	}{
		"without arguments, it helps":        {nil, 0, "Available Commands:", ""},
		"--help helps":                       {[]string{"--help"}, 0, "Serve the admission webhook", ""},
		"--version says the version":         {[]string{"--version"}, 0, "berth ", ""},
		"an unknown command is bad usage":    {[]string{"sreve"}, 2, "", "berth: unknown command \"sreve\"\nSee 'berth --help'.\n"},
		"an unknown flag is bad usage":       {[]string{"--verbose"}, 2, "", "berth: unknown flag: --verbose\nSee 'berth --help'.\n"},
		"help of a command names its groups": {[]string{"serve", "--help"}, 0, "\nCertificates:\n", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := berth(t, tc.args...)
			assert.Equal(t, tc.wantCode, code)
			assert.Contains(t, stdout, tc.wantStdout)
			assert.Equal(t, tc.wantStderr, stderr)
		})
	}
}

func TestServeHelpIsReadable(t *testing.T) {
	code, stdout, _ := berth(t, "serve", "--help")
	require.Zero(t, code)
	for _, title := range []string{"Serving:", "Certificates:", "Cluster (", "Rules:", "Logging:"} {
		assert.Contains(t, stdout, "\n"+title)
	}
	for line := range bytes.Lines([]byte(stdout)) {
		assert.LessOrEqual(t, len(line), 101, string(line))
	}
}

func TestServeFlagsAndDefaults(t *testing.T) {
	flags := newServe().Flags()
	for name, value := range map[string]string{
		"bind-address": ":9443", "metrics-bind-address": ":8080", "tls-cert-file": "", "tls-private-key-file": "",
		"tls-self-signed": "false", "tls-self-signed-ca-out": "", "client-ca-file": "", "cluster-file": "",
		"missing-node-pvc": "auto", "node-pvc-name-template": "{claim}-{node}",
		"populated-annotation": "berth.dev/populated=true", "populated-required": "false",
		"claim-label": "berth.dev/claim", "node-label": "berth.dev/node", "revision-label": "berth.dev/revision",
		"claim-scope-label":  "",
		"node-topology-keys": "[topology.topolvm.io/node,topology.hostpath.csi/node,openebs.io/nodename]",
		"preset":             "", "shutdown-delay-duration": "5s", "max-request-bytes": "8388608", "http2": "false",
		"log-format": "text", "log-level": "info",
		"kubeconfig": "", "context": "", "cluster": "", "user": "", "server": "", "token": "", "certificate-authority": "",
		"client-certificate": "", "client-key": "", "insecure-skip-tls-verify": "false", "tls-server-name": "",
		"as": "", "as-group": "[]", "request-timeout": "0",
	} {
		flag := flags.Lookup(name)
		if assert.NotNil(t, flag, "--%s", name) {
			assert.Equal(t, value, flag.Value.String(), "--%s", name)
		}
	}
	assert.Nil(t, flags.Lookup("namespace"), "serve is not about one namespace")
}

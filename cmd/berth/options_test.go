package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBadFlags(t *testing.T) {
	cases := map[string]struct {
		args []string
		want []string // lines, without "berth serve: "
	}{
		"without a certificate": {nil, []string{
			"--tls-cert-file: must be given together with --tls-private-key-file, unless --tls-self-signed is",
		}},
		"a certificate without key": {[]string{"--tls-cert-file=c"}, []string{"--tls-private-key-file: must be given together with --tls-cert-file"}},
		"a key without certificate": {[]string{"--tls-private-key-file=k"}, []string{"--tls-cert-file: must be given together with --tls-private-key-file"}},
		"two certificates":          {[]string{"--tls-self-signed", "--tls-cert-file=c", "--tls-private-key-file=k"}, []string{"--tls-self-signed: can't be given together with --tls-cert-file"}},
		"a key beside a self-signed certificate": {[]string{"--tls-self-signed", "--tls-private-key-file=k"}, []string{
			"--tls-self-signed: can't be given together with --tls-private-key-file",
		}},
		"a CA file without self-signed": {[]string{"--tls-cert-file=c", "--tls-private-key-file=k", "--tls-self-signed-ca-out=x"}, []string{
			"--tls-self-signed-ca-out: has no meaning without --tls-self-signed",
		}},
		"an unknown flag":          {[]string{"--tls-self-signed", "--nope"}, []string{"unknown flag: --nope"}},
		"a flag without its value": {[]string{"--tls-self-signed", "--log-level"}, []string{"flag needs an argument: --log-level"}},
		"an argument":              {[]string{"--tls-self-signed", "now"}, []string{`unexpected argument "now"`}},
		"addresses that are none": {[]string{"--tls-self-signed", "--bind-address=9443", "--metrics-bind-address=:http"}, []string{
			`--bind-address: "9443" must be HOST:PORT or :PORT`, `--metrics-bind-address: ":http" must have a port from 0 to 65535`,
		}},
		"a port out of range": {[]string{"--tls-self-signed", "--bind-address=:65536"}, []string{`--bind-address: ":65536" must have a port from 0 to 65535`}},
		"one address for both": {[]string{"--tls-self-signed", "--bind-address=:7000", "--metrics-bind-address=:7000"}, []string{
			`--metrics-bind-address: ":7000" is the address of --bind-address already`,
		}},
		"values that can't be parsed, all at once": {[]string{"--tls-self-signed=perhaps", "--shutdown-delay-duration=soon", "--max-request-bytes=8M", "--http2=two"}, []string{
			`--tls-self-signed: "perhaps" must be true or false`, `--shutdown-delay-duration: "soon" must be a duration, for example 5s`,
			`--max-request-bytes: "8M" must be a whole number`, `--http2: "two" must be true or false`,
			"--tls-cert-file: must be given together with --tls-private-key-file, unless --tls-self-signed is",
		}},
		"values out of range": {[]string{"--tls-self-signed", "--shutdown-delay-duration=-1s", "--max-request-bytes=0"}, []string{
			"--shutdown-delay-duration: -1s must not be negative", "--max-request-bytes: 0 must be positive",
		}},
		"a cluster file beside a cluster": {[]string{"--tls-self-signed", "--cluster-file=f", "--kubeconfig=k", "--context=c"}, []string{
			"--context: has no meaning with --cluster-file", "--kubeconfig: has no meaning with --cluster-file",
		}},
		"a request time-out that is none": {[]string{"--tls-self-signed", "--request-timeout=soon"}, []string{`--request-timeout: "soon" must be a duration, for example 5s`}},
		"unknown words": {[]string{"--tls-self-signed", "--missing-node-pvc=maybe", "--preset=other", "--log-format=xml", "--log-level=loud"}, []string{
			`--preset: "other" is unknown: use gkm`, `--missing-node-pvc: "maybe" must be auto, pend or deny`,
			`--log-format: "xml" must be text or json`, `--log-level: "loud" must be debug, info, warn or error`,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := berth(t, append([]string{"serve"}, tc.args...)...)
			assert.Equal(t, 2, code)
			assert.Empty(t, stdout)
			var want []string
			for _, line := range tc.want {
				want = append(want, "berth serve: "+line)
			}
			assert.Equal(t, append(want, "See 'berth serve --help'."), strings.Split(strings.TrimSpace(stderr), "\n"))
		})
	}
}

func TestRuntimeFailuresAreOneLine(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("KUBECONFIG", missing)
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	free := []string{"serve", "--tls-self-signed", "--bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0", "--log-level=error"}
	cases := map[string]struct {
		args []string
		want string
	}{
		"a cluster file that isn't there":    {[]string{"--cluster-file=" + missing}, missing},
		"a kubeconfig that isn't there":      {[]string{"--kubeconfig=" + missing}, missing},
		"a context that isn't there":         {[]string{"--server=http://127.0.0.1:1", "--context=nope"}, `"nope"`},
		"no cluster at all":                  {nil, "no cluster"},
		"client CAs that aren't there":       {[]string{"--server=http://127.0.0.1:1", "--client-ca-file=" + missing}, "--client-ca-file: "},
		"a CA file that can't be written":    {[]string{"--server=http://127.0.0.1:1", "--tls-self-signed-ca-out=" + missing + "/ca.crt"}, "--tls-self-signed-ca-out: "},
		"an address that isn't this machine": {[]string{"--server=http://127.0.0.1:1", "--bind-address=192.0.2.1:0"}, "192.0.2.1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := berth(t, append(append([]string{}, free...), tc.args...)...)
			assert.Equal(t, 1, code, stderr)
			assert.True(t, strings.HasPrefix(stderr, "berth serve: "), stderr)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			assert.Contains(t, stderr, tc.want)
		})
	}
}

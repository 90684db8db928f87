package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asPlugin runs the program as kubectl would: under the name of a plugin.
func asPlugin(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	return runAs(t, pluginName, args...)
}

func runAs(t *testing.T, name string, args ...string) (stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	plugin := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Symlink(self, plugin))
	cmd := exec.CommandContext(t.Context(), plugin, args...)
	cmd.Env = append(os.Environ(), runMain+"=1", "KUBECONFIG=", "HOME="+t.TempDir())
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the exit code is each command's own
	return out.String(), errOut.String()
}

func TestAsKubectlPlugin(t *testing.T) {
	t.Run("help shows what kubectl users type, and no server", func(t *testing.T) {
		stdout, _ := asPlugin(t, "--help")
		assert.Contains(t, stdout, "\n  kubectl berth [command]\n")
		assert.NotContains(t, stdout, "completion", "what it prints completes berth alone")
		for _, command := range []string{"coverage", "expand", "review"} {
			assert.Contains(t, stdout, "\n  "+command+" ")
		}
		assert.NotContains(t, stdout, "serve")
	})
	t.Run("each command's usage, too", func(t *testing.T) {
		for _, command := range []string{"coverage", "expand", "review"} {
			stdout, _ := asPlugin(t, command, "--help")
			assert.Contains(t, stdout, "\nUsage:\n  kubectl berth "+command+" ")
		}
	})
	t.Run("and bad usage", func(t *testing.T) {
		_, stderr := asPlugin(t, "expand")
		assert.Contains(t, stderr, "kubectl berth expand: --filename: ")
		assert.Contains(t, stderr, "See 'kubectl berth expand --help'.")
	})
	t.Run("and failures", func(t *testing.T) {
		for _, args := range [][]string{{"coverage", "--cluster-file=missing"}, {"review", "-f", "missing"}} {
			_, stderr := asPlugin(t, args...)
			assert.True(t, strings.HasPrefix(stderr, "kubectl berth "+args[0]+": "), stderr)
		}
	})
	t.Run("coverage works", func(t *testing.T) {
		stdout, _ := asPlugin(t, "coverage", "-n", "inference", "--cluster-file", writeTestFile(t, "c.yaml", clusterOf200()))
		assert.Contains(t, stdout, "model-cache  190/200")
	})
}

func TestAsCalled(t *testing.T) {
	for program, want := range map[string]string{
		"berth": "berth", "/usr/bin/berth": "berth", "/x/kubectl-berth": "kubectl berth", "kubectl-berth.exe": "kubectl berth", "kubectl-berths": "berth",
	} {
		root := newRoot()
		args := asCalled(root, program, []string{"review"})
		assert.Equal(t, want, root.CommandPath(), program)
		assert.Equal(t, []string{"review"}, args, program)
	}
}

func TestKubectlCompletesThePlugin(t *testing.T) {
	cases := map[string]struct {
		args         []string
		want, absent []string
	}{
		"commands, but for the server's": {[]string{""}, []string{"coverage\t", "expand\t", "review\t"}, []string{"serve", "completion"}},
		"a command that was begun":       {[]string{"cov"}, []string{"coverage\t"}, []string{"expand"}},
		"flags":                          {[]string{"coverage", "--cl"}, []string{"--claim\t", "--cluster-file\t"}, []string{"--output"}},
		"values":                         {[]string{"expand", "-o", ""}, []string{"json", "yaml"}, []string{"table"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stdout, _ := runAs(t, completerName, tc.args...)
			for _, want := range tc.want {
				assert.Contains(t, "\n"+stdout, "\n"+want)
			}
			for _, absent := range tc.absent {
				assert.NotContains(t, "\n"+stdout, "\n"+absent)
			}
			assert.Regexp(t, `\n:\d+\n$`, "\n"+stdout, "the directive that kubectl reads ends it")
		})
	}
}

// TestCompletion: a shell completes commands, flags and formats.
func TestCompletion(t *testing.T) {
	cases := map[string]struct {
		args []string
		want []string
	}{
		"commands":           {[]string{""}, []string{"coverage", "expand", "review"}},
		"flags of coverage":  {[]string{"coverage", "--"}, []string{"--all-namespaces", "--claim", "--selector", "--cluster-file", "--populated-required"}},
		"flags of expand":    {[]string{"expand", "--"}, []string{"--prune", "--respect-taints", "--revision", "--node-pvc-name-template"}},
		"levels of logs":     {[]string{"serve", "--log-level", ""}, []string{"debug", "info"}},
		"presets":            {[]string{"review", "--preset", ""}, []string{"gkm"}},
		"policies":           {[]string{"serve", "--missing-node-pvc", ""}, []string{"auto", "pend", "deny"}},
		"formats of expand":  {[]string{"expand", "-o", ""}, []string{"yaml", "json"}},
		"formats of a table": {[]string{"coverage", "--output", ""}, []string{"table", "json"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, stdout, _ := berth(t, append([]string{"__complete"}, tc.args...)...)
			assert.Zero(t, code)
			for _, want := range tc.want {
				assert.Contains(t, "\n"+stdout, "\n"+want)
			}
			assert.NotContains(t, stdout, "`")
		})
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, _ := berth(t, "completion", shell)
		assert.Zero(t, code)
		assert.NotEmpty(t, stdout)
	}
}

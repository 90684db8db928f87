package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook"
	"berth.dev/berth/webhook/claim"
)

const readme = "../../README.md"

// TestReadmeTables holds the README's tables of flags and metrics against the
// code. UPDATE_README=1 writes them.
func TestReadmeTables(t *testing.T) {
	text := readReadme(t)
	for name, want := range map[string]string{
		"flags":          flagTable(newServe(), nil),
		"review flags":   flagTable(newReview(), newServe()),
		"coverage flags": flagTable(newCoverage(), newServe()),
		"expand flags":   flagTable(newExpand(), newServe()),
		"metrics":        metricTable(t),
	} {
		block := regexp.MustCompile(`(?s)(<!-- ` + name + `:[^\n]*-->\n)(.*?)(<!-- /` + name + ` -->)`)
		got := block.FindStringSubmatch(text)
		require.NotNil(t, got, "README has no block for %s", name)
		if os.Getenv("UPDATE_README") != "" {
			text = block.ReplaceAllLiteralString(text, got[1]+want+got[3])
			continue
		}
		assert.Equal(t, want, got[2], "the README's %s drifted: UPDATE_README=1 go test ./cmd/berth", name)
	}
	if os.Getenv("UPDATE_README") != "" {
		require.NoError(t, os.WriteFile(readme, []byte(text), 0o600))
		t.Log("wrote README.md")
	}
}

// TestReadmeReasons: the README lists every reason with its code, and no other.
func TestReadmeReasons(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\| ([0-9]{3}) \\|").FindAllStringSubmatch(readReadme(t), -1)
	var got, want []string
	for _, r := range rows {
		got = append(got, r[1]+" "+r[2])
	}
	for _, r := range claim.Reasons() {
		want = append(want, fmt.Sprintf("%s %d", r, r.Code()))
	}
	assert.Equal(t, want, got)
}

// TestReadmeRefusals: what the README quotes is what a fixture's golden says.
func TestReadmeRefusals(t *testing.T) {
	block := regexp.MustCompile("(?s)```text refusals\n(.*?)```").FindStringSubmatch(readReadme(t))
	require.NotNil(t, block)
	goldens, err := filepath.Glob("../../test/fixtures/*/*/golden.json")
	require.NoError(t, err)
	require.NotEmpty(t, goldens)
	var said strings.Builder
	for _, g := range goldens {
		b, err := os.ReadFile(g)
		require.NoError(t, err)
		said.Write(b)
	}
	for line := range strings.Lines(block[1]) {
		if line = strings.TrimSpace(line); line != "" {
			assert.True(t, strings.Contains(said.String(), strings.ReplaceAll(line, `"`, `\"`)), "no golden says %s", line) //nolint:testifylint // a failure would print all goldens
		}
	}
}

func readReadme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(readme)
	require.NoError(t, err)
	return string(b)
}

// flagTable lists a command's own flags, but for those of another command that
// stand in its table; those of kubectl are kubectl's to explain.
func flagTable(cmd, but *cobra.Command) string {
	kubectl := kubectlFlags()
	var b strings.Builder
	b.WriteString("| flag | default | what it does |\n| --- | --- | --- |\n")
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if kubectl.Lookup(f.Name) != nil || f.Name == "help" || but != nil && but.LocalFlags().Lookup(f.Name) != nil {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			kind = " " + kind
		}
		value := f.DefValue
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `--%s%s` | %s | %s |\n", f.Name, kind, value, strings.ReplaceAll(usage, "\n", " "))
	})
	return b.String()
}

// kubectlFlags are the connection flags that kubectl has, too.
func kubectlFlags() *pflag.FlagSet {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	newClusterFlags().kube.AddFlags(set)
	return set
}

// metricTable lists Berth's metrics with their labels, as a scrape shows them.
func metricTable(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	webhook.NewMetrics(webhook.Gauges{}).Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	scrape := w.Body.String()
	var b strings.Builder
	b.WriteString("| metric | labels | what it says |\n| --- | --- | --- |\n")
	for _, help := range regexp.MustCompile(`(?m)^# HELP (berth_\S+) (.*)$`).FindAllStringSubmatch(scrape, -1) {
		sample := regexp.MustCompile(`(?m)^` + help[1] + `(?:_bucket)?(?:\{(.*)\})? `).FindStringSubmatch(scrape)
		require.NotNil(t, sample, "%s has no series from the start", help[1])
		var labels []string
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(sample[1], -1) {
			if l[1] != "le" {
				labels = append(labels, "`"+l[1]+"`")
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", help[1], strings.Join(labels, " "), help[2])
	}
	return b.String()
}

// TestReadmeReview: what the README shows of berth review is what it prints.
func TestReadmeReview(t *testing.T) {
	block := regexp.MustCompile("(?s)```text\n\\$ berth (review -f workloads.yaml --cluster-file \\S+)\n(.*?)```").FindStringSubmatch(readReadme(t))
	require.NotNil(t, block)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	t.Chdir("../../test/review/readme")
	args := strings.Fields(strings.ReplaceAll(block[1], "test/demo", root+"/test/demo"))
	var stdout, stderr strings.Builder
	assert.Equal(t, 1, execute(t.Context(), args, &stdout, &stderr), stderr.String())
	assert.Equal(t, block[2], stdout.String())
}

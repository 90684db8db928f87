package monitoring_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"berth.dev/berth/webhook/claim"
)

// page is the handbook.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(handbook)
	require.NoError(t, err)
	return string(text)
}

// matches are the first submatches of a pattern in a text.
func matches(text, pattern string) []string {
	var out []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// blocks are the handbook's code blocks in a language, not indented.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	found := matches(page(t), "(?s)\n```"+language+"\n(.*?)\n```\n")
	require.NotEmpty(t, found, language)
	return found
}

// anchorsOf are the anchors of the handbook's headings, as GitHub makes them.
func anchorsOf(t *testing.T) []string {
	t.Helper()
	drop := regexp.MustCompile(`[^a-z0-9 _-]`)
	var out []string
	for _, heading := range matches(page(t), `(?m)^#+ (.+)$`) {
		out = append(out, strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(heading), ""), " ", "-"))
	}
	return out
}

// TestHandbookLinksLead somewhere.
func TestHandbookLinksLead(t *testing.T) {
	for _, anchor := range matches(page(t), `\]\(#([^)]+)\)`) {
		assert.True(t, slices.Contains(anchorsOf(t), anchor), "no section #%s", anchor)
	}
	for _, file := range matches(page(t), "`(chart/[^`]+)`") {
		assert.FileExists(t, root+"/deploy/"+file)
	}
}

// TestHandbookListsTheAlerts as they are.
func TestHandbookListsTheAlerts(t *testing.T) {
	want := []string{}
	for _, r := range rules(t) {
		row := "| `" + r.Alert + "` | " + r.Labels["severity"] + " | " +
			strings.TrimSuffix(strings.ReplaceAll(r.Annotations["summary"], "{{ $labels.resource }}", "a resource"), ".")
		if r.For > 0 {
			row += ", for " + r.For.String()
		}
		want = append(want, row+" |")
	}
	assert.Equal(t, want, matches(page(t), "(?m)^(\\| `Berth\\w+` \\|.*)$"))
}

// TestHandbookNamesWhatThereIs: metrics, reasons and annotations are the code's, and
// objects are those of berth.yaml.
func TestHandbookNamesWhatThereIs(t *testing.T) {
	text := page(t)
	_, families := serve(t).scrape(t)
	metrics := matches(text, `\b(berth_[a-z_]+)`)
	require.NotEmpty(t, metrics)
	for _, name := range metrics {
		assert.Contains(t, families, name)
	}
	known := []string{"ServiceUnavailable"} // an API reason, not Berth's
	for _, reason := range claim.Reasons() {
		known = append(known, string(reason))
	}
	for _, r := range rules(t) {
		known = append(known, r.Alert)
	}
	for _, name := range matches(text, "`([A-Z][a-z]+[A-Z][A-Za-z]+)`") {
		assert.Contains(t, known, name)
	}
	readme, err := os.ReadFile(root + "/README.md")
	require.NoError(t, err)
	for _, key := range matches(text, `\b(berth\.dev/[a-z-]+)`) {
		assert.Contains(t, string(readme), "`"+key, "the README does not explain it")
	}
	manifest, err := os.ReadFile(root + "/deploy/berth.yaml")
	require.NoError(t, err)
	for _, name := range matches(text, `\b(zz-berth|berth-(?:system|serving|ca))\b`) {
		assert.Contains(t, string(manifest), "name: "+name)
	}
}

// TestHandbookExplainsEveryCause: each cause of an HTTP error that Berth counts.
func TestHandbookExplainsEveryCause(t *testing.T) {
	text := page(t)
	_, families := serve(t).scrape(t)
	series := families["berth_http_errors_total"].GetMetric()
	require.NotEmpty(t, series)
	for _, m := range series {
		assert.Contains(t, text, "`"+m.GetLabel()[0].GetValue()+"`")
	}
}

// TestHandbookValuesAreTheCharts: what is set with --set, and what is called a
// value, is in values.yaml.
func TestHandbookValuesAreTheCharts(t *testing.T) {
	text, err := os.ReadFile(root + "/deploy/chart/values.yaml")
	require.NoError(t, err)
	var values map[string]any
	require.NoError(t, yaml.Unmarshal(text, &values))
	set := matches(page(t), `--set '?([A-Za-z.]+)=`)
	set = append(set, matches(page(t), "`((?:monitoring|networkPolicy)\\.[A-Za-z.]+)[`=]")...)
	require.Greater(t, len(set), 5)
	for _, path := range append(set, "missingNodePVC", "logLevel") {
		require.Contains(t, page(t), path)
		at := any(values)
		for _, key := range strings.Split(path, ".") {
			level, isMap := at.(map[string]any)
			require.True(t, isMap, path)
			require.Contains(t, level, key, path)
			at = level[key]
		}
	}
}

// TestHandbookFlagsExist: each flag after `berth COMMAND` is one of it, and the
// others that are named alone are of serve.
func TestHandbookFlagsExist(t *testing.T) {
	flag := regexp.MustCompile(`(?:^|[\s{'])(--?[a-z][a-z-]*)`)
	checked := 0
	for _, line := range matches(page(t), "berth ((?:review|coverage|expand|serve)[^`|\n]*)") {
		command, rest, _ := strings.Cut(line, " ")
		help, err := output(berth, command, "--help")
		require.NoError(t, err)
		for _, m := range flag.FindAllStringSubmatch(rest, -1) {
			assert.Regexp(t, `(?m)^\s+(-\w, )?`+m[1]+`\b`, help, "berth %s", line)
			checked++
		}
	}
	assert.Greater(t, checked, 5)
	serve, err := output(berth, "serve", "--help")
	require.NoError(t, err)
	for _, name := range append(matches(page(t), "`(--(?:max|node|client|missing|populated)[a-z-]+)"), "--client-ca-file") {
		assert.Contains(t, serve, name)
	}
}

// TestHandbookManifestsDecode strictly, and Berth reads them.
func TestHandbookManifestsDecode(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for _, block := range blocks(t, "yaml") {
		for _, document := range strings.Split(block, "\n---\n") {
			_, _, err := decoder.Decode([]byte(document), nil, nil)
			assert.NoError(t, err, document)
		}
	}
}

// TestHandbookQuotesAreReal: refusals and tables are what Berth prints about the
// cluster that the examples come from.
func TestHandbookQuotesAreReal(t *testing.T) {
	const cluster = "--cluster-file=testdata/handbook/cluster.yaml"
	answer, err := output(berth, "review", "-f", "testdata/handbook/pods.yaml", cluster, "-o", "json")
	require.ErrorContains(t, err, "exit status 1", "all of them are refused")
	var reviewed any
	require.NoError(t, json.Unmarshal([]byte(answer), &reviewed))
	quotes := append(matches(page(t), `denied the request: (.+)`), matches(page(t), `(?m)^ *(Pod "probe2" mounts .+)$`)...)
	require.Len(t, quotes, 2)
	for _, quote := range quotes {
		encoded, err := json.Marshal(quote)
		require.NoError(t, err)
		assert.Contains(t, answer, strings.Trim(string(encoded), `"`))
	}
	table, err := output(berth, "coverage", "-A", cluster)
	require.ErrorContains(t, err, "exit status 1", "nodes are missing")
	assert.Equal(t, []string{table}, matches(page(t), "(?s)\n\\$ kubectl berth coverage -A\n(.*?)```"))
}

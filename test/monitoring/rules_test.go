package monitoring_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const alertTests = "testdata/alerts.test.yaml"

// TestRulesPassPromtool: they are valid, and each alert fires when it should and
// not when it shouldn't.
func TestRulesPassPromtool(t *testing.T) {
	promtool := debian(t, "promtool")
	_, err := output(promtool, "check", "rules", "--lint=all", "--lint-fatal", alerts)
	require.NoError(t, err)
	_, err = output(promtool, "test", "rules", alertTests)
	require.NoError(t, err)
}

// TestAlertTestsNoticeAlertsThatDontWait: with every alert firing at once, the
// tests complain of each that should wait.
func TestAlertTestsNoticeAlertsThatDontWait(t *testing.T) {
	promtool := debian(t, "promtool")
	good, err := os.ReadFile(alerts)
	require.NoError(t, err)
	hasty := regexp.MustCompile(`(?m)^ +for: \w+$`).ReplaceAllString(string(good), "")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "alerts.yaml"), []byte(hasty), 0o600))
	tests, err := os.ReadFile(alertTests)
	require.NoError(t, err)
	file := filepath.Join(dir, "test.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(tests), "../../../deploy/chart/monitoring/", "", 1)), 0o600))
	_, err = output(promtool, "test", "rules", file)
	require.Error(t, err)
	for _, r := range rules(t) {
		if r.For > 0 {
			assert.ErrorContains(t, err, `alertname="`+r.Alert+`"`)
		}
	}
}

// TestEveryAlertIsTested: each fires in a test, and the healthy replicas of the first
// one have all metrics that it reads.
func TestEveryAlertIsTested(t *testing.T) {
	text, err := os.ReadFile(alertTests)
	require.NoError(t, err)
	healthy, rest, found := strings.Cut(string(text), "  - name: nothing is scraped")
	require.True(t, found)
	for _, r := range rules(t) {
		assert.Contains(t, rest, `alertname="`+r.Alert+`"`, "%s fires in no test", r.Alert)
		for _, name := range metricsOf(parse(t, r.Expr)) {
			assert.Contains(t, healthy, "series: '"+name+"{", "%s reads it", r.Alert)
		}
	}
}

// TestAlertsSayWhatToDo: what is wrong, what to do, how bad it is, and where the
// handbook says more.
func TestAlertsSayWhatToDo(t *testing.T) {
	anchors := anchorsOf(t)
	names := map[string]bool{}
	for _, r := range rules(t) {
		assert.False(t, names[r.Alert], "%s stands twice", r.Alert)
		names[r.Alert] = true
		assert.True(t, strings.HasPrefix(r.Alert, "Berth"), r.Alert)
		assert.Contains(t, []string{"critical", "warning"}, r.Labels["severity"], r.Alert)
		assert.Regexp(t, `^\S.*\.$`, r.Annotations["summary"], r.Alert)
		assert.Less(t, len(r.Annotations["summary"]), 80, r.Alert)
		assert.Regexp(t, `^\S.*\.$`, r.Annotations["description"], r.Alert)
		file, anchor, found := strings.Cut(r.Annotations["runbook"], "#")
		assert.True(t, found && file == "deploy/README.md", "%s: no runbook", r.Alert)
		assert.True(t, slices.Contains(anchors, anchor), "%s: the handbook has no section #%s", r.Alert, anchor)
	}
}

// TestGroupsReadWhatTheySay: Berth's group reads Berth's metrics only, and the other
// one the API server's.
func TestGroupsReadWhatTheySay(t *testing.T) {
	text, err := os.ReadFile(alerts)
	require.NoError(t, err)
	_, second, found := strings.Cut(string(text), "- name: berth-seen-by-the-api-server")
	require.True(t, found)
	for _, r := range rules(t) {
		prefix := "berth_"
		if strings.Contains(second, "alert: "+r.Alert+"\n") {
			prefix = "apiserver_admission_webhook_"
		}
		for _, name := range metricsOf(parse(t, r.Expr)) {
			assert.True(t, strings.HasPrefix(name, prefix), "%s reads %s", r.Alert, name)
		}
	}
}

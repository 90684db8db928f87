package monitoring_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// emptyWhenWell are the queries that have no value while all is well, and why.
func emptyWhenWell() map[string]string {
	return map[string]string{
		"absent(berth_build_info)": "it has a value only while nothing is scraped",
	}
}

// notANumber are the queries whose value is not a number here, and why.
func notANumber() map[string]string {
	return map[string]string{
		`sum by (cluster, job, resource) (rate(berth_live_reads_total{result="error"}[10m])) / sum by (cluster, job, resource) (rate(berth_live_reads_total[10m]))`: "a cluster file needs no live reads, so it is 0 of 0",
	}
}

// TestEveryQueryHasValues: a real Prometheus scrapes a working Berth, and the API
// server's own metrics, and runs all queries of the rules and of the dashboard.
func TestEveryQueryHasValues(t *testing.T) {
	s := serve(t)
	p := scraping(t, map[string]string{"berth": s.metrics, "apiserver": apiServer(t)})
	load(t, p, s)
	used := map[string]bool{}
	check := func(where, expr string) {
		found, err := p.query(t.Context(), expr)
		if !assert.NoError(t, err, where) {
			return
		}
		used[expr] = true
		if emptyWhenWell()[expr] != "" {
			assert.Empty(t, found, "%s: %s", where, expr)
			return
		}
		assert.NotEmpty(t, found, "%s: no values: %s", where, expr)
		isNumber := slices.ContainsFunc(found, func(s sample) bool { return !math.IsNaN(s.float()) })
		assert.Equal(t, notANumber()[expr] == "", isNumber, "%s: a number: %s", where, expr)
	}
	for _, r := range rules(t) {
		_, err := p.query(t.Context(), r.Expr)
		assert.NoError(t, err, r.Alert)
		for _, part := range operands(parse(t, r.Expr)) {
			check(r.Alert, part.String())
		}
	}
	for _, panel := range panels(t) {
		for _, target := range panel.Targets {
			check(panel.Title, resolved(target.Expr))
		}
	}
	for _, list := range []map[string]string{emptyWhenWell(), notANumber()} {
		for expr := range list {
			assert.True(t, used[expr], "nobody asks %s", expr)
		}
	}
	rulesEvaluate(t, p)
}

// load sends the fixtures twice, with a scrape between, so that rates have two
// samples to go by.
func load(t *testing.T, p *prometheus, s *server) {
	t.Helper()
	const posted = `sum(berth_admission_requests_total)`
	for round := range 2 {
		s.postFixtures(t)
		callWebhooks(t)
		_, families := s.scrape(t)
		total := 0.0
		for _, m := range families["berth_admission_requests_total"].GetMetric() {
			total += m.GetCounter().GetValue()
		}
		require.Positive(t, total)
		p.eventually(t, posted, total)
		p.eventually(t, `sum(apiserver_admission_webhook_fail_open_count)`, float64(round+1))
	}
}

// rulesEvaluate: Prometheus has loaded every rule, and evaluates it without error.
func rulesEvaluate(t *testing.T, p *prometheus) {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	require.NoError(t, p.get(t.Context(), "/api/v1/rules", &answer))
	var names []string
	for _, group := range answer.Data.Groups {
		for _, r := range group.Rules {
			names = append(names, r.Name)
			assert.Equal(t, "ok", r.Health, "%s: %s", r.Name, r.LastError)
		}
	}
	assert.Len(t, names, len(rules(t)), strings.Join(names, ", "))
}

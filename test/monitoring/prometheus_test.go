package monitoring_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// prometheus is a running Prometheus.
type prometheus struct{ address string }

// scraping starts a Prometheus that scrapes each job's address every second and
// evaluates the rules.
func scraping(t *testing.T, jobs map[string]string) *prometheus {
	t.Helper()
	program := debian(t, "prometheus")
	rules, err := filepath.Abs(alerts)
	require.NoError(t, err)
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n", rules)
	for job, address := range jobs {
		config += fmt.Sprintf("- {job_name: %q, static_configs: [{targets: [%q]}]}\n", job, address)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	p := start(t, program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	address := p.says(t, `(?s)msg="(?:Listening on|TLS is disabled\.)"[^\n]* address=(127\.0\.0\.1:[1-9]\d*)`)[1]
	p.says(t, "Server is ready to receive web requests")
	return &prometheus{address: address}
}

// sample is one series of an answer.
type sample struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"` // seconds since 1970, and the value as text
}

// float is the value.
func (s sample) float() float64 {
	text, _ := s.Value[1].(string)
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return value
}

// query runs an instant query.
func (p *prometheus) query(ctx context.Context, expr string) ([]sample, error) {
	var answer struct {
		Status, Error string
		Data          struct {
			ResultType string
			Result     []sample
		}
	}
	if err := p.get(ctx, "/api/v1/query?query="+url.QueryEscape(expr), &answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("%s: %s", expr, answer.Error)
	}
	return answer.Data.Result, nil
}

func (p *prometheus) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+path, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	return json.NewDecoder(res.Body).Decode(into)
}

// eventually waits until a query's first value is at least what is wanted.
func (p *prometheus) eventually(t *testing.T, expr string, atLeast float64) {
	t.Helper()
	require.Eventually(t, func() bool {
		found, err := p.query(t.Context(), expr)
		return err == nil && len(found) > 0 && found[0].float() >= atLeast
	}, patience, 100*time.Millisecond, "%s never reached %v", expr, atLeast)
}

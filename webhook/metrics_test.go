package webhook

import (
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/claim"
)

// seriesOf are the values of all series of Berth's own, by name and labels;
// of a histogram, how much it counted.
func seriesOf(t *testing.T, m *Metrics) map[string]int {
	t.Helper()
	families, err := m.registry.Gather()
	require.NoError(t, err)
	out := map[string]int{}
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "berth_") {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, l := range metric.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			sort.Strings(labels)
			name := family.GetName()
			if len(labels) > 0 {
				name += "{" + strings.Join(labels, ",") + "}"
			}
			out[name] = int(metric.GetCounter().GetValue()+metric.GetGauge().GetValue()) + int(metric.GetHistogram().GetSampleCount())
		}
	}
	return out
}

func TestEverySeriesExistsFromTheStart(t *testing.T) {
	series := seriesOf(t, NewMetrics(Gauges{Version: "v1"}))
	count := map[string]int{}
	for name, value := range series {
		family, _, _ := strings.Cut(name, "{")
		count[family]++
		if family != "berth_build_info" {
			assert.Zero(t, value, name)
		}
	}
	assert.Equal(t, map[string]int{
		"berth_admission_requests_total":                10 * 5 * 4,
		"berth_admission_refusals_total":                10 * len(claim.Reasons()),
		"berth_admission_duration_seconds":              10,
		"berth_live_reads_total":                        4 * 3,
		"berth_informer_synced":                         4,
		"berth_node_pvcs":                               5,
		"berth_certificate_not_after_timestamp_seconds": 1,
		"berth_build_info":                              1,
		"berth_http_errors_total":                       8,
		"berth_panics_total":                            1,
	}, count)
}

func TestHostileNamesMakeNoSeries(t *testing.T) {
	c := configOf(pipelineOf(emptyView{}, nil))
	handler := NewServer(c).AdmissionHandler()
	before := seriesOf(t, c.Metrics)
	for i := range 50 {
		post(handler, "/mutate", plainReview("u", "evil.example", fmt.Sprintf("things-%d", i), fmt.Sprintf("OP-%d", i)))
		post(handler, "/mutate", plainReview("u", "batch.volcano.sh", "jobs", "CREATE"))
		post(handler, "/mutate", "garbage")
	}
	c.Metrics.ObserveLiveRead("secrets", "ok")
	c.Metrics.ObserveLiveRead("nodes", "maybe")
	after := seriesOf(t, c.Metrics)
	require.Len(t, after, len(before))
	assert.Equal(t, 50, after[`berth_admission_requests_total{operation="other",resource="other",result="allowed"}`])
	assert.Equal(t, 50, after[`berth_admission_requests_total{operation="CREATE",resource="other",result="allowed"}`])
	assert.Equal(t, 50, after[`berth_admission_requests_total{operation="other",resource="other",result="error"}`])
	assert.Equal(t, 100, after[`berth_admission_duration_seconds{resource="other"}`])
}

func TestDecisionsAreCounted(t *testing.T) {
	c := configOf(pipelineOf(emptyView{claim: "model-cache"}, nil))
	handler := NewServer(c).AdmissionHandler()
	post(handler, "/mutate", podReview("u-1", "model-cache"))
	post(handler, "/validate", plainReview("u-2", "", "pods", "DELETE"))
	post(handler, "/validate", plainReview("u-3", "batch", "cronjobs", "DELETE"))
	series := seriesOf(t, c.Metrics)
	assert.Equal(t, 1, series[`berth_admission_requests_total{operation="CREATE",resource="pods",result="refused"}`])
	assert.Equal(t, 1, series[`berth_admission_refusals_total{reason="NotPinned",resource="pods"}`])
	assert.Equal(t, 1, series[`berth_admission_requests_total{operation="DELETE",resource="pods",result="allowed"}`])
	assert.Equal(t, 1, series[`berth_admission_requests_total{operation="DELETE",resource="cronjobs",result="allowed"}`])
	assert.Equal(t, 2, series[`berth_admission_duration_seconds{resource="pods"}`])
}

func TestGaugesAreAskedAtEachScrape(t *testing.T) {
	ready := 1
	m := NewMetrics(Gauges{
		Version: "v1.2.3",
		Informers: func() map[string]bool {
			return map[string]bool{"nodes": true, "persistentvolumes": false, "secrets": true}
		},
		NodePVCs:            func() map[string]int { return map[string]int{"ready": ready, "lost": 2, "odd": 9} },
		CertificateNotAfter: func() (time.Time, bool) { return time.Unix(1_900_000_000, 0), true },
	})
	m.ObserveLiveRead("nodes", "notfound")
	series := seriesOf(t, m)
	assert.Equal(t, 1, series[`berth_informer_synced{resource="nodes"}`])
	assert.Equal(t, 0, series[`berth_informer_synced{resource="persistentvolumes"}`])
	assert.NotContains(t, series, `berth_informer_synced{resource="secrets"}`)
	assert.Equal(t, 1, series[`berth_node_pvcs{state="ready"}`])
	assert.Equal(t, 2, series[`berth_node_pvcs{state="lost"}`])
	assert.NotContains(t, series, `berth_node_pvcs{state="odd"}`)
	assert.Equal(t, 1_900_000_000, series["berth_certificate_not_after_timestamp_seconds"])
	assert.Equal(t, 1, series[`berth_live_reads_total{resource="nodes",result="notfound"}`])
	ready = 7
	assert.Equal(t, 7, seriesOf(t, m)[`berth_node_pvcs{state="ready"}`])
	_, body := fetch(t, m.Handler(), "/metrics")
	assert.Contains(t, body, `version="v1.2.3"`)
	assert.Contains(t, body, "go_goroutines")
}

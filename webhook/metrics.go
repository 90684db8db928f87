package webhook

import (
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// Gauges are asked when metrics are scraped. A nil function gives zeros.
type Gauges struct {
	// Version is Berth's own.
	Version string
	// Informers tells which resources have been listed.
	Informers func() map[string]bool
	// NodePVCs counts node PVCs by state: ready, pending, unfilled, deleting, lost.
	NodePVCs func() map[string]int
	// CertificateNotAfter is when the serving certificate ends; false if there is none.
	CertificateNotAfter func() (time.Time, bool)
}

// Metrics are the process's metrics, in a registry of their own. All label
// sets are closed, and every series exists from the start.
type Metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	refusals  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	liveReads *prometheus.CounterVec
	failures  *prometheus.CounterVec
	panics    prometheus.Counter
	prepared  map[string]prepared // by resource
}

// prepared are the series of one resource that every request counts in: looking
// them up by their labels costs more than counting.
type prepared struct {
	duration prometheus.Observer
	requests map[[2]string]prometheus.Counter // by operation and result
}

// NewMetrics registers all metrics.
func NewMetrics(g Gauges) *Metrics {
	m := &Metrics{
		registry:  prometheus.NewRegistry(),
		requests:  counters("berth_admission_requests_total", "Admission requests, by what became of them.", "resource", "operation", "result"),
		refusals:  counters("berth_admission_refusals_total", "Refused admission requests, by reason.", "resource", "reason"),
		liveReads: counters("berth_live_reads_total", "Calls to the API server that decisions needed.", "resource", "result"),
		failures:  counters("berth_http_errors_total", "Requests that got an HTTP error and no decision, by cause.", "cause"),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "berth_admission_duration_seconds",
			Help:    "Time from the arrival of an admission request to its answer.",
			Buckets: []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5},
		}, []string{"resource"}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "berth_panics_total", Help: "Bugs that were met and survived while a review was worked on.",
		}),
	}
	m.registry.MustRegister(m.requests, m.refusals, m.liveReads, m.failures, m.durations, m.panics, buildInfo(g.Version), newGaugeCollector(g),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.createSeries()
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// buildInfo is the constant 1 that bears the versions as labels.
func buildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "berth_build_info", Help: "The version of Berth that runs, and of the Go it was built with.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	}, func() float64 { return 1 })
}

// createSeries makes every series at zero, so that rates and alerts work from
// the first event on.
func (m *Metrics) createSeries() {
	m.prepared = map[string]prepared{}
	for _, resource := range resourceLabels() {
		p := prepared{m.durations.WithLabelValues(resource), map[[2]string]prometheus.Counter{}}
		m.prepared[resource] = p
		for _, reason := range claim.Reasons() {
			m.refusals.WithLabelValues(resource, string(reason))
		}
		for _, operation := range operationLabels() {
			for _, result := range resultLabels() {
				p.requests[[2]string{operation, result}] = m.requests.WithLabelValues(resource, operation, result)
			}
		}
	}
	for why := range codes {
		m.failures.WithLabelValues(string(why))
	}
	for _, resource := range readResources() {
		for _, result := range readResults() {
			m.liveReads.WithLabelValues(resource, result)
		}
	}
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// ObserveLiveRead counts one call to the API server: the plural resource, and
// ok, notfound or error. What is outside these sets is not counted.
func (m *Metrics) ObserveLiveRead(resource, result string) {
	if oneOf(readResources(), resource, "") == "" || oneOf(readResults(), result, "") == "" {
		return
	}
	m.liveReads.WithLabelValues(resource, result).Inc()
}

// observe counts a decided request.
func (m *Metrics) observe(req *admission.Request, d *admission.Decision, took time.Duration) {
	resource := resourceLabel(req)
	operation := oneOf(operationLabels(), req.Operation, other)
	m.prepared[resource].requests[[2]string{operation, d.Result()}].Inc()
	m.prepared[resource].duration.Observe(took.Seconds())
	if d.Reason != "" {
		m.refusals.WithLabelValues(resource, string(d.Reason)).Inc()
	}
}

// observeFailure counts a request that got no decision.
func (m *Metrics) observeFailure(why cause) {
	m.requests.WithLabelValues(other, other, resultError).Inc()
	m.failures.WithLabelValues(string(why)).Inc()
}

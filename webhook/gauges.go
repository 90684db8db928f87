package webhook

import "github.com/prometheus/client_golang/prometheus"

// gaugeCollector gives the gauges that are asked for at each scrape. Unlike a
// vector that is set now and then, it can't show what was true a while ago.
type gaugeCollector struct {
	gauges   Gauges
	synced   *prometheus.Desc
	pvcs     *prometheus.Desc
	notAfter *prometheus.Desc
}

func newGaugeCollector(g Gauges) *gaugeCollector {
	return &gaugeCollector{
		gauges:   g,
		synced:   prometheus.NewDesc("berth_informer_synced", "1 once the resource has been listed.", []string{"resource"}, nil),
		pvcs:     prometheus.NewDesc("berth_node_pvcs", "Node PVCs by state.", []string{"state"}, nil),
		notAfter: prometheus.NewDesc("berth_certificate_not_after_timestamp_seconds", "When the serving certificate ends, in seconds since 1970; 0 without one.", nil, nil),
	}
}

// Describe lists the gauges.
func (c *gaugeCollector) Describe(out chan<- *prometheus.Desc) {
	out <- c.synced
	out <- c.pvcs
	out <- c.notAfter
}

// Collect asks for their values.
func (c *gaugeCollector) Collect(out chan<- prometheus.Metric) {
	synced := c.informerSynced()
	for _, resource := range readResources() {
		out <- gauge(c.synced, synced[resource], resource)
	}
	counts := c.nodePVCs()
	for _, state := range pvcStates() {
		out <- gauge(c.pvcs, float64(counts[state]), state)
	}
	out <- gauge(c.notAfter, c.certificateEnd())
}

func gauge(desc *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

// informerSynced is 1 for each resource that has been listed.
func (c *gaugeCollector) informerSynced() map[string]float64 {
	out := map[string]float64{}
	if c.gauges.Informers == nil {
		return out
	}
	for resource, synced := range c.gauges.Informers() {
		if synced {
			out[resource] = 1
		}
	}
	return out
}

func (c *gaugeCollector) nodePVCs() map[string]int {
	if c.gauges.NodePVCs == nil {
		return nil
	}
	return c.gauges.NodePVCs()
}

func (c *gaugeCollector) certificateEnd() float64 {
	if c.gauges.CertificateNotAfter == nil {
		return 0
	}
	end, ok := c.gauges.CertificateNotAfter()
	if !ok {
		return 0
	}
	return float64(end.Unix())
}

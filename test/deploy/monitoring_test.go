package deploy_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// monitor is an object for the Prometheus operator or for Grafana's sidecar: what
// this chart uses of it, and nothing else.
type monitor struct {
	metav1.TypeMeta
	Metadata struct {
		Name, Namespace string
		Labels          map[string]string
	} `json:"metadata"`
	Spec struct {
		Groups    any                                     `json:"groups,omitempty"`
		Selector  metav1.LabelSelector                    `json:"selector,omitzero"`
		Endpoints []struct{ Port, Path, Interval string } `json:"endpoints,omitempty"`
	} `json:"spec,omitzero"`
	Data map[string]string `json:"data,omitempty"`
}

// monitors renders the chart, and reads one kind of object of it.
func monitors(t *testing.T, kind string, set ...string) []monitor {
	t.Helper()
	text, err := template(variants(t)["single"], set...)
	require.NoError(t, err)
	var out []monitor
	for _, document := range strings.Split(text, "\n---\n") {
		if strings.Contains("\n"+document, "\nkind: "+kind+"\n") {
			var m monitor
			require.NoError(t, yaml.UnmarshalStrict([]byte(document), &m))
			out = append(out, m)
		}
	}
	return out
}

// TestMonitoringIsOffByDefault: the kinds may not be known to the cluster.
func TestMonitoringIsOffByDefault(t *testing.T) {
	for _, kind := range []string{"PrometheusRule", "ServiceMonitor", "ConfigMap"} {
		assert.Empty(t, monitors(t, kind), kind)
	}
}

// TestMonitoringObjectsHoldTheFiles: rules and dashboard, byte for byte or value
// for value, under labels that are given, and a monitor that finds the Service.
func TestMonitoringObjectsHoldTheFiles(t *testing.T) {
	set := []string{
		`monitoring.prometheusRule={"enabled":true,"labels":{"release":"kps"}}`,
		`monitoring.serviceMonitor={"enabled":true,"labels":{"release":"kps"},"interval":"15s"}`,
		`monitoring.dashboard.enabled=true`,
	}
	v := variants(t)["single"]

	rules := monitors(t, "PrometheusRule", set...)
	require.Len(t, rules, 1)
	text, err := os.ReadFile(chart + "/monitoring/alerts.yaml")
	require.NoError(t, err)
	var file struct{ Groups any }
	require.NoError(t, yaml.Unmarshal(text, &file))
	assert.Equal(t, file.Groups, rules[0].Spec.Groups)
	assert.Equal(t, "kps", rules[0].Metadata.Labels["release"])
	assert.Equal(t, v.namespace, rules[0].Metadata.Namespace)

	boards := monitors(t, "ConfigMap", set...)
	require.Len(t, boards, 1)
	text, err = os.ReadFile(chart + "/monitoring/dashboard.json")
	require.NoError(t, err)
	assert.JSONEq(t, string(text), boards[0].Data["berth.json"])
	assert.Equal(t, "1", boards[0].Metadata.Labels["grafana_dashboard"])

	found := monitors(t, "ServiceMonitor", set...)
	require.Len(t, found, 1)
	service := one[corev1.Service](render(t, v))
	selector, err := metav1.LabelSelectorAsMap(&found[0].Spec.Selector)
	require.NoError(t, err)
	require.NotEmpty(t, selector)
	for key, value := range selector {
		assert.Equal(t, value, service.Labels[key])
	}
	require.Len(t, found[0].Spec.Endpoints, 1)
	assert.Equal(t, "15s", found[0].Spec.Endpoints[0].Interval)
	assert.Equal(t, "/metrics", found[0].Spec.Endpoints[0].Path)
	assert.True(t, slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Name == found[0].Spec.Endpoints[0].Port
	}))
}

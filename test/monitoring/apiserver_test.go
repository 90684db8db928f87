package monitoring_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
)

// apiServer serves the metrics that an API server has of its webhooks, from the
// API server's own code, and gives its address.
func apiServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(legacyregistry.Handler())
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// callWebhooks counts as an API server does whose calls of Berth went well, were
// refused, failed, and were let pass.
func callWebhooks(t *testing.T) {
	t.Helper()
	pods := admission.NewAttributesRecord(&corev1.Pod{}, nil, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "ml", "x",
		schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "", admission.Create, nil, false, nil)
	m := metrics.Metrics
	m.ObserveWebhook(t.Context(), "pods.berth.dev", time.Millisecond, false, pods, "admit", 200)
	m.ObserveWebhookRejection(t.Context(), "pods.berth.dev", "admit", "CREATE", metrics.WebhookRejectionNoError, 422)
	m.ObserveWebhookRejection(t.Context(), "pods.berth.dev", "admit", "CREATE", metrics.WebhookRejectionCallingWebhookError, 0)
	m.ObserveWebhookFailOpen(t.Context(), "workloads.berth.dev", "validating")
}

package deploy_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"berth.dev/berth/webhook"
)

// routes is Berth's own server, asked for nothing but where its routes are.
func routes() *webhook.Server {
	return webhook.NewServer(webhook.Config{Metrics: webhook.NewMetrics(webhook.Gauges{}), Log: slog.New(slog.DiscardHandler)})
}

// serves tells whether a handler has a route.
func serves(h http.Handler, method, path string) bool {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), method, "http://berth"+path, strings.NewReader("")))
	return w.Code != http.StatusNotFound && w.Code != http.StatusMethodNotAllowed
}

// checkPaths: every webhook calls a route that is there, and the one that may
// do what the configuration is for, at Berth's Service.
func checkPaths(r *rendered) []string {
	var found problems
	service := one[corev1.Service](r)
	handler := routes().AdmissionHandler()
	for _, h := range hooks(r) {
		ref := h.GetClientConfig().Service
		if ref == nil {
			found.unless(false, "%s calls no Service", h.id())
			continue
		}
		path := value(ref.Path)
		found.unless(path == "/"+string(h.road), "%s: %q is for another configuration", h.id(), path)
		found.unless(serves(handler, http.MethodPost, "/"+strings.TrimPrefix(path, "/")), "%s: nothing serves %q", h.id(), path)
		found.unless(ref.Name == service.Name && ref.Namespace == service.Namespace, "%s calls %s/%s", h.id(), ref.Namespace, ref.Name)
		port := servicePort(service, "https")
		found.unless(port != nil && value(ref.Port) == port.Port, "%s: port %d is not the Service's", h.id(), value(ref.Port))
	}
	return found
}

func servicePort(service *corev1.Service, name string) *corev1.ServicePort {
	for i := range service.Spec.Ports {
		if service.Spec.Ports[i].Name == name {
			return &service.Spec.Ports[i]
		}
	}
	return nil
}

// containerPort is the port that a number or a name stands for, 0 if none.
func containerPort(r *rendered, port intstr.IntOrString) int32 {
	for _, p := range container(r).Ports {
		if port.Type == intstr.String && p.Name == port.StrVal || port.Type == intstr.Int && p.ContainerPort == port.IntVal {
			return p.ContainerPort
		}
	}
	return 0
}

// addressPort is the port of an address flag, 0 if none.
func addressPort(address string) int32 {
	port, err := strconv.ParseInt(address[strings.LastIndex(address, ":")+1:], 10, 32)
	if err != nil {
		return 0
	}
	return int32(port)
}

// checkPorts: the Service reaches the ports that the arguments open, and the
// probes and the scraper ask routes that are there.
func checkPorts(r *rendered) []string {
	var found problems
	args := flags(r)
	service := one[corev1.Service](r)
	metrics := addressPort(args["metrics-bind-address"])
	for name, want := range map[string]int32{"https": addressPort(args["bind-address"]), "metrics": metrics} {
		port := servicePort(service, name)
		found.unless(port != nil && want > 0 && containerPort(r, port.TargetPort) == want, "the Service's port %s does not reach %d", name, want)
	}
	c, handler := container(r), routes().MetricsHandler()
	for name, probe := range map[string]*corev1.Probe{"/livez": c.LivenessProbe, "/readyz": c.ReadinessProbe, "/livez at start": c.StartupProbe} {
		if probe == nil || probe.HTTPGet == nil {
			found.unless(false, "no probe for %s", name)
			continue
		}
		path, _, _ := strings.Cut(name, " ")
		found.unless(probe.HTTPGet.Path == path && serves(handler, http.MethodGet, path), "the probe for %s asks %s", name, probe.HTTPGet.Path)
		found.unless(containerPort(r, probe.HTTPGet.Port) == metrics, "the probe for %s asks port %v", name, probe.HTTPGet.Port)
	}
	annotations := one[appsv1.Deployment](r).Spec.Template.Annotations
	found.unless(annotations["prometheus.io/port"] == strconv.Itoa(int(metrics)), "Prometheus is sent to port %s", annotations["prometheus.io/port"])
	found.unless(serves(handler, http.MethodGet, annotations["prometheus.io/path"]), "Prometheus is sent to %s", annotations["prometheus.io/path"])
	return found
}

package monitoring_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMetricNamesPassPromlint: those that Berth names itself. The ones of the Go
// client library are as everybody has them.
func TestMetricNamesPassPromlint(t *testing.T) {
	text, families := serve(t).scrape(t)
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	require.NoError(t, err)
	for _, problem := range problems {
		assert.False(t, strings.HasPrefix(problem.Metric, "berth_"), "%s: %s", problem.Metric, problem.Text)
	}
	for name, family := range families {
		if strings.HasPrefix(name, "berth_") {
			assert.NotEmpty(t, family.GetHelp(), name)
		}
	}
}

// TestManyPodsAddNoSeries: 10,000 different pods, hostile names among them, leave
// Berth's series as they were at the start.
func TestManyPodsAddNoSeries(t *testing.T) {
	const pods = 10_000
	s := serve(t)
	_, before := s.scrape(t)
	var wg sync.WaitGroup
	next := make(chan int)
	for range 8 {
		wg.Go(func() {
			for i := range next {
				assert.Equal(t, http.StatusOK, s.post(t, []string{"/mutate", "/validate"}[i%2], differentPod(t, i)))
			}
		})
	}
	for i := range pods {
		next <- i
	}
	close(next)
	wg.Wait()
	_, after := s.scrape(t)
	assert.Equal(t, seriesOf(before), seriesOf(after))
	assert.Less(t, len(seriesOf(after)), 1000)
	sum := 0.0
	for _, m := range after["berth_admission_requests_total"].GetMetric() {
		sum += m.GetCounter().GetValue()
	}
	assert.InDelta(t, pods, sum, 0.1)
	t.Logf("%d pods, %d series of Berth's before and after", pods, len(seriesOf(after)))
}

// differentPod is a review that shares no name with any other; every fifth bears a
// resource, and every seventh an operation, that does not exist.
func differentPod(t *testing.T, i int) []byte {
	t.Helper()
	resource, operation := "pods", "CREATE"
	if i%5 == 0 {
		resource = fmt.Sprintf("pods\n\"} %d{", i)
	}
	if i%7 == 0 {
		operation = fmt.Sprintf("CREATE%d", i)
	}
	name := func(what string) string { return fmt.Sprintf("%s-%d", what, i) }
	type object = map[string]any
	body, err := json.Marshal(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": object{
		"uid": name("uid"), "namespace": name("namespace"), "name": name("pod"), "operation": operation,
		"kind":     object{"group": "", "version": "v1", "kind": "Pod"},
		"resource": object{"group": "", "version": "v1", "resource": resource},
		"object": object{"apiVersion": "v1", "kind": "Pod",
			"metadata": object{"name": name("pod"), "annotations": object{"berth.dev/node-local-claims": name("claim")}},
			"spec": object{
				"nodeSelector": object{"kubernetes.io/hostname": name("node")},
				"containers":   []object{{"name": "c", "image": name("image")}},
				"volumes":      []object{{"name": "v", "persistentVolumeClaim": object{"claimName": name("claim")}}},
			}},
	}})
	require.NoError(t, err)
	return body
}

// seriesOf are Berth's series, sorted.
func seriesOf(families map[string]*dto.MetricFamily) []string {
	var out []string
	for name, family := range families {
		if !strings.HasPrefix(name, "berth_") {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := []string{name}
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out = append(out, strings.Join(labels, " "))
		}
	}
	slices.Sort(out)
	return out
}

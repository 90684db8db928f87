package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logged are the records that a request leaves at a level.
func logged(t *testing.T, level slog.Level, p *Pipeline, body string) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	c := configOf(p)
	c.Log = slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: level}))
	post(NewServer(c).AdmissionHandler(), "/mutate", body)
	var records []map[string]any
	for line := range strings.Lines(out.String()) {
		var record map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &record))
		delete(record, slog.TimeKey)
		records = append(records, record)
	}
	return records
}

func TestRefusalIsLoggedAtInfo(t *testing.T) {
	records := logged(t, slog.LevelInfo, pipelineOf(emptyView{claim: "model-cache"}, nil), podReview("u-1", "model-cache"))
	require.Len(t, records, 1)
	assert.Equal(t, map[string]any{
		"level": "INFO", "msg": "request refused",
		"uid": "u-1", "operation": "CREATE", "resource": "pods", "namespace": "ml", "generateName": "vllm-",
		"node": "", "claim": "model-cache", "pvcs": "", "result": "refused", "reason": "NotPinned",
	}, records[0])
}

func TestAdmissionIsLoggedAtDebugOnly(t *testing.T) {
	p, body := pipelineOf(emptyView{}, nil), plainReview("u-2", "apps", "deployments", "DELETE")
	assert.Empty(t, logged(t, slog.LevelInfo, p, body))
	records := logged(t, slog.LevelDebug, p, body)
	require.Len(t, records, 1)
	assert.Equal(t, map[string]any{
		"level": "DEBUG", "msg": "request allowed",
		"uid": "u-2", "operation": "DELETE", "resource": "deployments", "namespace": "ml", "name": "thing",
		"node": "", "claim": "", "pvcs": "", "result": "allowed", "reason": "",
	}, records[0])
}

func TestUnreadableClusterIsLoggedWithItsCause(t *testing.T) {
	live := &reader{err: errors.New("nodes: connection\nrefused")}
	records := logged(t, slog.LevelInfo, pipelineOf(emptyView{claim: "model-cache"}, live), podReview("u-3", "model-cache"))
	require.Len(t, records, 1)
	assert.Equal(t, "ClusterUnreadable", records[0]["reason"])
	assert.Equal(t, "nodes: connection; refused", records[0]["error"])
}

func TestPanicIsLoggedWithItsStack(t *testing.T) {
	records := logged(t, slog.LevelError, pipelineOf(panicView{}, nil), podReview("u-4", "x"))
	require.Len(t, records, 1)
	assert.Equal(t, "u-4", records[0]["uid"])
	assert.Contains(t, records[0]["error"], "the view is broken")
	assert.Contains(t, records[0]["stack"], "panicView")
}

func TestObjectsAreNeverLogged(t *testing.T) {
	body := strings.Replace(podReview("u-5", "model-cache"), `"volumes"`, `"containers":[{"env":[{"name":"PASSWORD","value":"hunter2"}]}],"volumes"`, 1)
	for _, p := range []*Pipeline{pipelineOf(emptyView{claim: "model-cache"}, nil), pipelineOf(panicView{}, nil), pipelineOf(emptyView{}, nil)} {
		for _, record := range logged(t, slog.LevelDebug, p, body) {
			for key, value := range record {
				assert.NotContains(t, value, "hunter2", key)
			}
		}
	}
}

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clusterYAML is a cluster of one node, with its node PVC.
const clusterYAML = `
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: node-a, labels: {kubernetes.io/hostname: node-a}}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: model-cache-node-a, namespace: ml, labels: {berth.dev/claim: model-cache, berth.dev/node: node-a}}
  spec: {volumeName: pv-a}
  status: {phase: Bound}
- apiVersion: v1
  kind: PersistentVolume
  metadata: {name: pv-a}
  spec:
    nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-a]}]}]}}
`

// daemonPod is the review of a DaemonSet's pod for node-a.
func daemonPod(uid, claimName string) string {
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":%q,"operation":"CREATE",
		"namespace":"ml","resource":{"group":"","version":"v1","resource":"pods"},"object":{"apiVersion":"v1","kind":"Pod",
		"metadata":{"generateName":"vllm-"},"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
		{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["node-a"]}]}]}}},
		"volumes":[{"name":"cache","persistentVolumeClaim":{"claimName":%q}}]}}}}`, uid, claimName)
}

// response is the answer to a review.
type response struct {
	UID     string
	Allowed bool
	Patch   string
	Status  struct {
		Code    int
		Message string
	}
}

func answerOf(t *testing.T, body string) response {
	t.Helper()
	var review struct{ Response response }
	require.NoError(t, json.Unmarshal([]byte(body), &review), body)
	return review.Response
}

func clusterFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	require.NoError(t, os.WriteFile(file, []byte(clusterYAML), 0o600))
	return file
}

func TestServeFromAClusterFile(t *testing.T) {
	p := serve(t, "--cluster-file="+clusterFile(t), "--shutdown-delay-duration=0s")
	code, body := p.post(t, "/mutate?timeout=5s", daemonPod("u-1", "model-cache"))
	require.Equal(t, http.StatusOK, code, body)
	answer := answerOf(t, body)
	assert.Equal(t, "u-1", answer.UID)
	assert.True(t, answer.Allowed, answer.Status.Message)
	patch, err := base64.StdEncoding.DecodeString(answer.Patch)
	require.NoError(t, err)
	assert.Contains(t, string(patch), `"model-cache-node-a"`)

	code, body = p.post(t, "/validate", daemonPod("u-2", "model-cache"))
	require.Equal(t, http.StatusOK, code, body)
	assert.False(t, answerOf(t, body).Allowed, "the twin finds a claim that was not rewritten")

	code, _ = p.get(t, "/readyz")
	assert.Equal(t, http.StatusOK, code)
	_, metrics := p.get(t, "/metrics")
	assert.Contains(t, metrics, `berth_admission_requests_total{operation="CREATE",resource="pods",result="rewritten"} 1`)
	assert.Contains(t, metrics, `berth_informer_synced{resource="nodes"} 1`)
	assert.NotContains(t, metrics, "berth_certificate_not_after_timestamp_seconds 0\n")

	assert.Zero(t, p.terminate(t, syscall.SIGTERM))
	refused := p.find("request refused")
	require.NotNil(t, refused)
	assert.Equal(t, "u-2", refused["uid"])
	p.assertOneFormat(t)
}

func TestServeEndsAfterItsDelay(t *testing.T) {
	p := serve(t, "--cluster-file="+clusterFile(t), "--shutdown-delay-duration=300ms", "--http2")
	code, body := p.post(t, "/mutate", daemonPod("u-1", "model-cache"))
	require.Equal(t, http.StatusOK, code, body)
	begun := time.Now()
	assert.Zero(t, p.terminate(t, syscall.SIGINT))
	assert.GreaterOrEqual(t, time.Since(begun), 300*time.Millisecond)
}

func TestServeFromACluster(t *testing.T) {
	api := newAPIServer(t)
	p := serve(t, "--server="+api.URL, "--shutdown-delay-duration=0s", "--request-timeout=30s")
	require.Eventually(t, func() bool {
		code, body := p.get(t, "/readyz")
		return code == http.StatusServiceUnavailable && containsAll(body, "nodes: forbidden", "storageclasses: forbidden")
	}, waitFor, tick, "readiness says what is missing")
	code, body := p.post(t, "/mutate", daemonPod("u-1", "unheard-of"))
	assert.Equal(t, http.StatusServiceUnavailable, code)
	assert.Contains(t, body, "berth is not ready: ")
	code, _ = p.get(t, "/livez")
	assert.Equal(t, http.StatusOK, code)

	api.allowed.Store(true)
	require.Eventually(t, func() bool {
		code, _ := p.get(t, "/readyz")
		return code == http.StatusOK
	}, waitFor, tick, "it is ready soon after it is allowed to read")
	code, body = p.post(t, "/mutate", daemonPod("u-2", "unheard-of"))
	require.Equal(t, http.StatusOK, code, body)
	assert.True(t, answerOf(t, body).Allowed, body)
	assert.Positive(t, api.gets.Load(), "what the informers don't know was asked live")
	_, metrics := p.get(t, "/metrics")
	assert.Contains(t, metrics, `berth_live_reads_total{resource="persistentvolumeclaims",result="notfound"}`)

	api.allowed.Store(false)
	_, body = p.post(t, "/mutate", daemonPod("u-3", "unheard-of-too"))
	answer := answerOf(t, body)
	assert.False(t, answer.Allowed)
	assert.Equal(t, http.StatusServiceUnavailable, answer.Status.Code)
	assert.Zero(t, p.terminate(t, syscall.SIGTERM))
	p.assertOneFormat(t)
}

func TestJobsOutliveTheSignal(t *testing.T) {
	ctx, signal := context.WithCancel(t.Context())
	started, ended := make(chan context.Context, 1), make(chan struct{})
	stop := start(ctx, []job{func(ctx context.Context) error {
		started <- ctx
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	}}, slog.New(slog.DiscardHandler))
	signal()
	require.NoError(t, (<-started).Err(), "the server still drains")
	stop()
	select {
	case <-ended:
	default:
		t.Error("stop does not wait for the job")
	}
}

func containsAll(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/test/e2e/cluster"
)

func TestAContainerThatKubectlDebugAddsReadsTheRewrittenVolume(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.apply(pod("reader", onHost(reader("model-cache"), "node-a")))
	n.awaitReady("reader")
	profile := filepath.Join(t.TempDir(), "profile.json")
	require.NoError(t, os.WriteFile(profile, []byte(`{"volumeMounts": [{"name": "cache", "mountPath": "/debugged"}]}`), 0o600))
	n.must("debug", "reader", "--image="+cluster.AppImage, "--container=debugger", "--custom="+profile, "--attach=false", "--quiet",
		"--", "/app", "serve", "/debugged/note")
	require.Eventually(t, func() bool {
		log, err := n.client.CoreV1().Pods(n.name).GetLogs("reader", &corev1.PodLogOptions{Container: "debugger"}).DoRaw(t.Context())
		return err == nil && strings.TrimSpace(string(log)) == "the bytes of node-a"
	}, patience, interval, "the ephemeral container reads nothing")
	assert.Equal(t, "model-cache-node-a", mounted(n.pod("reader"), "cache"))
}

package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serveCluster starts berth serve on a cluster.
func serveCluster(t *testing.T, c *faultyCluster, args ...string) *process {
	t.Helper()
	return serve(t, append([]string{"--server=http://" + c.address, "--shutdown-delay-duration=0s"}, args...)...)
}

func (p *process) awaitReady(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		code, _ := p.get(t, "/readyz")
		return code == http.StatusOK
	}, waitFor, tick, "it is not ready")
}

// dialing is a client of the process alone.
func (p *process) dialing(t *testing.T) dialing {
	t.Helper()
	return dialing{roots: p.client.Transport.(*http.Transport).TLSClientConfig.RootCAs, address: func() string { return p.serving.text("address") }}
}

// boundFor is a bound node PVC of a name that no template gives, with its PV.
func boundFor(claim, name, node, annotations string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %[2]s, namespace: ml, labels: {berth.dev/claim: %[1]s, berth.dev/node: %[3]s}, annotations: {%[4]s}}
spec: {volumeName: pv-%[2]s}
status: {phase: Bound}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-%[2]s}
spec:
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [%[3]s]}]}]}}
`, claim, name, node, annotations)
}

func TestWithoutItsAPIServerBerthAnswersWhatItKnowsAndRefusesTheRestUntilItIsBack(t *testing.T) {
	t.Parallel()
	c := newFaultyCluster(t, clusterYAML)
	p := serveCluster(t, c)
	p.awaitReady(t)
	const connections = 4
	clients := p.dialing(t).clients(t, connections+1)
	l := startLoad(t, 100, connections, func(client, n int) error { return rewritten(clients[client], fmt.Sprint("u-", n)) })
	l.awaitMore(t, 50)
	c.goAway()
	c.put(t, boundFor("new", "data-1", "node-a", ""))

	refused := figures{}
	for i := range 20 {
		begun := time.Now()
		answer, err := askedFor(clients[connections], daemonPod("u", fmt.Sprintf("unheard-of-%d", i)))
		require.NoError(t, err)
		assert.False(t, answer.Allowed)
		assert.Equal(t, http.StatusServiceUnavailable, answer.Status.Code)
		assert.Contains(t, answer.Status.Message, "ry again")
		refused.took = append(refused.took, time.Since(begun))
		refused.lasted += time.Since(begun)
		if i == 0 {
			t.Logf("refused: %d %s", answer.Status.Code, answer.Status.Message)
		}
	}
	slices.Sort(refused.took)
	t.Logf("while the API server was gone, what had to be asked: %s, all refused as retriable", &refused)
	refused.assertAllInTime(t)
	code, body := p.get(t, "/readyz")
	assert.Equal(t, http.StatusOK, code, "%s: it can still answer what it knows", body)
	l.awaitMore(t, 50)

	c.comeBack(t)
	begun := time.Now()
	require.Eventually(t, func() bool {
		answer, err := askedFor(clients[connections], daemonPod("u", "new"))
		return err == nil && answer.Allowed && patchOf(t, answer) == "data-1"
	}, waitFor, tick, "it does not recover")
	t.Logf("recovered %s after the API server came back", time.Since(begun).Round(time.Millisecond))
	l.awaitMore(t, 50)
	f := l.stop()
	t.Logf("all the while, what was known: %s", f)
	f.assertAllInTime(t)
}

func TestAForbiddenResourceKeepsBerthFromBeingReadyUntilItIsAllowed(t *testing.T) {
	t.Parallel()
	c := newFaultyCluster(t, clusterYAML)
	c.set(func() { c.forbidden["nodes"], c.forbidden["persistentvolumes"] = true, true })
	p := serveCluster(t, c)
	client := p.dialing(t).client(t)
	says := func(resources ...string) {
		t.Helper()
		require.Eventually(t, func() bool {
			code, body := p.get(t, "/readyz")
			named := 0
			for _, resource := range resources {
				if strings.Contains(body, resource+": forbidden: ") {
					named++
				}
			}
			return code == http.StatusServiceUnavailable && named == len(resources) && strings.Count(body, "\n") == named
		}, waitFor, tick, "readiness does not say what is forbidden: %v", resources)
		_, body := p.get(t, "/readyz")
		t.Logf("not ready: %s", strings.ReplaceAll(strings.TrimSpace(body), "\n", "; "))
		_, err := askedFor(client, daemonPod("u", "model-cache"))
		require.ErrorContains(t, err, "503 berth is not ready: ")
	}
	says("nodes", "persistentvolumes")
	c.set(func() { delete(c.forbidden, "nodes") })
	says("persistentvolumes")
	begun := time.Now()
	c.set(func() { delete(c.forbidden, "persistentvolumes") })
	p.awaitReady(t)
	t.Logf("ready %s after all was allowed", time.Since(begun).Round(time.Millisecond))
	require.NoError(t, rewritten(client, "u"))
}

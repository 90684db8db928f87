package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watchRounds is how many changes are made under each fault; after each the
// cluster is asked about, before an event can have come.
const watchRounds = 12

// patchOf is the claimName that an answer puts in, "" for none.
func patchOf(t *testing.T, answer response) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(answer.Patch)
	require.NoError(t, err)
	var patch []struct{ Value any }
	if len(text) > 0 {
		require.NoError(t, json.Unmarshal(text, &patch))
		return fmt.Sprint(patch[0].Value)
	}
	return ""
}

// liveReads sums the calls that decisions made.
func (p *process) liveReads(t *testing.T) int {
	t.Helper()
	_, metrics := p.get(t, "/metrics")
	sum := 0
	for _, found := range regexp.MustCompile(`(?m)^berth_live_reads_total\{.*\} (\d+)$`).FindAllStringSubmatch(metrics, -1) {
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		sum += n
	}
	return sum
}

// watchFault is a cluster whose watches have something, and what was asked of it.
type watchFault struct {
	*faultyCluster
	t      *testing.T
	client *http.Client
	asked  int
	wrong  []string
}

// expect asks for a pod of node-a: what it gets, or why it is refused.
func (f *watchFault) expect(what, review, wantPVC string, wantCode int) {
	f.t.Helper()
	answer, err := askedFor(f.client, review)
	require.NoError(f.t, err)
	f.asked++
	if got := patchOf(f.t, answer); got != wantPVC || answer.Status.Code != wantCode {
		f.wrong = append(f.wrong, fmt.Sprintf("%s: %d %q %s", what, answer.Status.Code, got, answer.Status.Message))
	}
}

// unfilled and twins are claims that the caches know from the start.
func unfilled(i int) (claim, name string) {
	return fmt.Sprintf("late-%d", i), fmt.Sprintf("late-data-%d", i)
}
func twins(i int) (claim, name string) {
	return fmt.Sprintf("twin-%d", i), fmt.Sprintf("twin-data-%d", i)
}

// unpinned is the review of a pod that any node could run.
func unpinned(claim string) string {
	return strings.Replace(daemonPod("u", claim), `"nodeAffinity"`, `"notNodeAffinity"`, 1)
}

// round changes the cluster and asks about it at once.
func (f *watchFault) round(i int) {
	f.t.Helper()
	claim, name := fmt.Sprintf("new-%d", i), fmt.Sprintf("data-%d", i)
	f.expect("a claim that is not there yet", daemonPod("u", claim), "", 0)
	f.put(f.t, boundFor(claim, name, "node-a", ""))
	f.expect("a claim's first PVC", daemonPod("u", claim), name, 0)
	f.expect("an unpinned pod of a new claim", unpinned(claim), "", 422)

	claim, name = unfilled(i)
	f.expect("a PVC that is not filled", daemonPod("u", claim), "", 503)
	f.put(f.t, boundFor(claim, name, "node-a", `berth.dev/populated: "true"`))
	f.expect("a PVC that was just filled", daemonPod("u", claim), name, 0)

	claim, name = twins(i)
	f.expect("two PVCs for one node", daemonPod("u", claim), "", 422)
	f.remove(f.t, boundFor(claim, name+"-b", "node-a", ""))
	f.expect("the one that is left", daemonPod("u", claim), name+"-a", 0)

	node := fmt.Sprintf("node-%d", i)
	f.put(f.t, fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %[1]s, labels: {kubernetes.io/hostname: %[1]s}}}", node), boundFor("model-cache", "data-of-"+node, node, ""))
	f.expect("a pod of a node that has just joined", strings.Replace(daemonPod("u", "model-cache"), `"node-a"`, fmt.Sprintf("%q", node), 1), "data-of-"+node, 0)
}

func TestNoAnswerIsWrongWhileWatchesLagOrBreak(t *testing.T) {
	t.Parallel()
	for name, matter := range map[string]string{
		"if they hang without a word": watchesSilent, "if their events come late": watchesLag,
		"if they are closed": watchesClose, "if they end with 410 Gone": watchesExpire,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &watchFault{faultyCluster: newFaultyCluster(t, clusterYAML), t: t}
			for i := range watchRounds {
				claim, data := unfilled(i)
				f.put(t, boundFor(claim, data, "node-a", `berth.dev/populated: "false"`))
				claim, data = twins(i)
				f.put(t, boundFor(claim, data+"-a", "node-a", ""), boundFor(claim, data+"-b", "node-a", ""))
			}
			p := serveCluster(t, f.faultyCluster)
			p.awaitReady(t)
			f.client = p.dialing(t).client(t)
			f.set(func() { f.watches = matter })
			begun := time.Now()
			for i := range watchRounds {
				f.round(i)
			}
			t.Logf("%d changes in %s, %d reviews, %d wrong, %d live reads", 4*watchRounds, time.Since(begun).Round(time.Millisecond), f.asked, len(f.wrong), p.liveReads(t))
			assert.Empty(t, f.wrong)

			begun = time.Now()
			f.set(func() { f.watches = watchesWork })
			f.put(t, boundFor("last", "last-data", "node-a", ""))
			require.Eventually(t, func() bool {
				before := p.liveReads(t)
				f.expect("the last change", daemonPod("u", "last"), "last-data", 0)
				return p.liveReads(t) == before
			}, waitFor, tick, "the caches do not catch up")
			t.Logf("a hit again %s after the watches worked again", time.Since(begun).Round(time.Millisecond))
			assert.Empty(t, f.wrong)
		})
	}
}

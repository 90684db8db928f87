//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// stormClaim is the claim whose PVCs change all the time.
const stormClaim = "storm"

// soakAsk is one request that is sent again and again.
type soakAsk struct {
	name, path string
	body       []byte
	code       int    // that it must get; 0 for whatever comes first
	changes    bool   // the answer follows what changes in the cluster meanwhile
	first      string // the verdict that it got first
}

func (a *soakAsk) reader() io.Reader { return bytes.NewReader(a.body) }

// fixtureAsks are the reviews of all fixtures, asked about another namespace.
func fixtureAsks(t *testing.T, namespace string) []*soakAsk {
	t.Helper()
	files, err := filepath.Glob("../fixtures/*/*/review.json")
	require.NoError(t, err)
	require.Greater(t, len(files), 100)
	var asks []*soakAsk
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "case.yaml"))
		require.NoError(t, err)
		var rules struct{ Path string }
		require.NoError(t, yaml.Unmarshal(text, &rules))
		body = bytes.ReplaceAll(body, []byte(`"namespace": "ml"`), fmt.Appendf(nil, `"namespace": %q`, namespace))
		// Other tests make node-c join and leave meanwhile.
		asks = append(asks, &soakAsk{name: file, path: rules.Path, body: body, code: http.StatusOK, changes: bytes.Contains(body, []byte("node-c"))})
	}
	return asks
}

// hostileAsks are what no API server sends, and pods of the claim that changes.
func hostileAsks(namespace string) []*soakAsk {
	good := podAsk(namespace, "model-cache", "node-a")
	asks := []*soakAsk{
		{name: "nothing", code: http.StatusBadRequest},
		{name: "garbage", body: []byte("k8s\x00\x0a\x1f\xff\xfe"), code: http.StatusBadRequest},
		{name: "cut off", body: good[:len(good)/2], code: http.StatusBadRequest},
		{name: "too deep", body: []byte(strings.Repeat(`{"request":`, 20_000)), code: http.StatusBadRequest},
		{name: "lists, too deep", body: []byte(strings.Repeat(`[`, 50_000)), code: http.StatusBadRequest},
		{name: "no request", body: []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}`), code: http.StatusBadRequest},
		{name: "too large", body: bytes.Repeat([]byte(" "), 9<<20), code: http.StatusRequestEntityTooLarge},
		{name: "large", body: append(bytes.Clone(good), bytes.Repeat([]byte(" "), 3<<20)...), code: http.StatusOK},
		{name: "a long claim", body: podAsk(namespace, strings.Repeat("x", 100_000), "node-a"), code: http.StatusOK},
		{name: "a claim that climbs", body: podAsk(namespace, "../../../api/v1/nodes", "node-a"), code: http.StatusOK},
		{name: "a node that is none", body: podAsk(namespace, "model-cache", "node\x00\u2028"), code: http.StatusOK},
	}
	for _, node := range []string{"node-a", "node-b", "node-c"} {
		for range 10 {
			asks = append(asks, &soakAsk{name: "the storm on " + node, body: podAsk(namespace, stormClaim, node), changes: true})
		}
	}
	for _, ask := range asks {
		ask.path = "/mutate"
	}
	return asks
}

// podAsk is the review of a DaemonSet's pod.
func podAsk(namespace, claim, node string) []byte {
	body, _ := json.Marshal(map[string]any{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": map[string]any{
		"uid": "soak", "operation": "CREATE", "namespace": namespace, "resource": map[string]any{"group": "", "version": "v1", "resource": "pods"},
		"object": map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{"generateName": "reader-"}, "spec": map[string]any{
			"affinity": map[string]any{"nodeAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{
				map[string]any{"matchFields": []any{map[string]any{"key": "metadata.name", "operator": "In", "values": []string{node}}}},
			}}}},
			"volumes": []any{map[string]any{"name": "cache", "persistentVolumeClaim": map[string]any{"claimName": claim}}},
		}},
	}})
	return body
}

// stormCount counts what was done to PVCs, and what was not by the API server's reason.
type stormCount struct {
	made   atomic.Int64
	mu     sync.Mutex
	failed map[string]int
}

func (c *stormCount) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[cmp.Or(string(apierrors.ReasonForError(err)), err.Error())]++
}

// String tells of both.
func (c *stormCount) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d changes, failed: %v", c.made.Load(), c.failed)
}

// storm changes twenty PVCs of one claim, twenty times a second, until the test
// ends: annotations mostly, now and then the node, and each is deleted and made again.
func (n *namespace) storm() *stormCount {
	n.t.Helper()
	config, err := n.cluster.Config()
	require.NoError(n.t, err)
	config.QPS, config.Burst = 100, 100
	client, err := kubernetes.NewForConfig(config)
	require.NoError(n.t, err)
	count, done := &stormCount{failed: map[string]int{}}, make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	n.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		every := time.NewTicker(50 * time.Millisecond)
		defer every.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
			}
			if err := n.change(ctx, client, i); err != nil && ctx.Err() == nil {
				count.fail(err)
				continue
			}
			count.made.Add(1)
		}
	}()
	return count
}

// change is the i-th change: three to each PVC in turn. In every tenth round
// a PVC is deleted at the end, and made anew when its turn comes.
func (n *namespace) change(ctx context.Context, client kubernetes.Interface, i int) error {
	pvcs, round, step := client.CoreV1().PersistentVolumeClaims(n.name), i/60, i%3
	name, node := fmt.Sprintf("%s-%d", stormClaim, i/3%20), []string{"node-a", "node-b"}[round%2]
	switch {
	case round%10 == 0 && step == 0:
		pvc := nodePVC(stormClaim, node)
		pvc.Name = name
		_, err := pvcs.Create(ctx, pvc, metav1.CreateOptions{})
		return err
	case round%10 == 9 && step == 2:
		return pvcs.Delete(ctx, name, metav1.DeleteOptions{})
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"berth.dev/populated":"%t","storm":"%d"},"labels":{"berth.dev/node":%q}}}`, i%2 == 0, i, node)
	_, err := pvcs.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

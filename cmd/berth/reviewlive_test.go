package main

import (
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kjson "sigs.k8s.io/json"
)

// objectServer serves objects as an API server does: gets by name, and lists
// by label. What is under a forbidden path may not be read.
type objectServer struct {
	*httptest.Server
	objects   []*manifest
	forbidden string
	mu        sync.Mutex
	paths     []string // what was asked for
}

func newObjectServer(t *testing.T, forbidden string, objects ...string) *objectServer {
	t.Helper()
	manifests, errs := readManifests([]byte(joinDocs(objects...)), "server")
	require.Empty(t, errs)
	s := &objectServer{objects: manifests, forbidden: forbidden}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *objectServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.paths = append(s.paths, r.URL.Path)
	s.mu.Unlock()
	selector, _ := labels.Parse(r.URL.Query().Get("labelSelector"))
	base := path.Base(r.URL.Path)
	items := []any{}
	for _, m := range s.objects {
		at := m.path()
		everywhere := strings.Replace(at, "namespaces/"+m.head.Metadata.Namespace+"/", "", 1)
		if (at == r.URL.Path || everywhere == r.URL.Path) && selector.Matches(labels.Set(m.head.Metadata.Labels)) || at+"/"+m.name() == r.URL.Path {
			var object map[string]any
			_ = kjson.UnmarshalCaseSensitivePreserveInts(m.raw, &object)
			items = append(items, object)
		}
	}
	_, isList := kinds()[base]
	switch {
	case s.forbidden != "" && strings.Contains(r.URL.Path, s.forbidden):
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "may not read "+s.forbidden)
	case isList:
		version := "v1"
		if base == "storageclasses" {
			version = "storage.k8s.io/v1"
		}
		write(w, http.StatusOK, map[string]any{"kind": kinds()[base], "apiVersion": version, "metadata": map[string]string{"resourceVersion": "1"}, "items": items})
	case len(items) == 1:
		write(w, http.StatusOK, items[0])
	default:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, base+" not found")
	}
}

// path is where an API server has the list that the object is in.
func (m *manifest) path() string {
	at := "/api/v1/"
	if m.gvk().Group != "" {
		at = "/apis/" + m.head.APIVersion + "/"
	}
	if m.head.Metadata.Namespace != "" {
		at += "namespaces/" + m.head.Metadata.Namespace + "/"
	}
	return at + m.resource().Resource
}

func (s *objectServer) asked(suffix string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range s.paths {
		if strings.HasSuffix(p, suffix) {
			n++
		}
	}
	return n
}

func labObjects() []string {
	return []string{nodeYAML("rome"), nodeYAML("oslo"), boundPVC("rome"), namespaceYAML("lab", "berth.dev/admission: enabled"), namespaceYAML("late", "")}
}

func TestReviewAgainstACluster(t *testing.T) {
	pvcManifest := "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: weights-rome, labels: {berth.dev/claim: weights, berth.dev/node: rome}}}"
	twin := "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: copy, labels: {berth.dev/claim: weights, berth.dev/node: rome}}, spec: {volumeName: pv-rome}, status: {phase: Bound}}"
	cases := map[string]struct {
		in      string
		args    []string
		code    int
		verdict string // of the last object
		reason  string
	}{
		"a pinned pod gets the PVC that the cluster has":                    {in: podYAML("p", "rome"), verdict: "rewritten"},
		"an unpinned Deployment is refused":                                 {in: workloadYAML("apps/v1", "Deployment", "d", ""), code: 1, verdict: "refused", reason: "NotPinned"},
		"a claim that nobody has is left alone":                             {in: strings.ReplaceAll(podYAML("p", ""), "weights", "other"), verdict: "admitted"},
		"a namespace that is not opted in is skipped":                       {in: podYAML("p", ""), args: []string{"-n", "late"}, verdict: "skipped"},
		"a namespace that does not exist counts as opted in":                {in: podYAML("p", ""), args: []string{"-n", "new"}, verdict: "admitted"},
		"a PVC of the input is laid over the live claim":                    {in: joinDocs(boundPVC("oslo"), podYAML("p", "oslo")), verdict: "rewritten"},
		"the manifest of a bound PVC leaves it bound":                       {in: joinDocs(pvcManifest, podYAML("p", "rome")), verdict: "rewritten"},
		"a live twin of the input's PVC is seen":                            {in: joinDocs(twin, podYAML("p", "rome")), code: 1, verdict: "refused", reason: "AmbiguousNodePVC"},
		"a live Node that shares the hostname of the input's is seen":       {in: joinDocs(strings.Replace(nodeYAML("rome"), "name: rome", "name: rome-2", 1), podYAML("p", "rome")), code: 1, verdict: "refused", reason: "NotPinned"},
		"a Node of the input takes the place of the live one of its name":   {in: joinDocs("{apiVersion: v1, kind: Node, metadata: {name: rome, labels: {kubernetes.io/hostname: roma}}}", podYAML("p", "rome")), code: 1, verdict: "refused", reason: "NotPinned"},
		"an AdmissionReview is decided about as it is":                      {in: admissionReview("lab", "rome"), verdict: "rewritten"},
		"one of a namespace that is not opted in never reaches the webhook": {in: admissionReview("late", "rome"), verdict: "skipped"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newObjectServer(t, "", labObjects()...)
			got := review(t, tc.in, append([]string{"-f", "-", "-o", "json", "--server", s.URL, "-n", "lab", "--missing-node-pvc", "deny"}, tc.args...)...)
			assert.Equal(t, tc.code, got.code, got.stdout)
			assert.Empty(t, got.stderr)
			results := got.results(t)
			last := results[len(results)-1]
			assert.Equal(t, tc.verdict, last.Verdict, got.stdout)
			assert.Equal(t, tc.reason, last.Reason)
			for _, w := range last.Warnings {
				assert.NotContains(t, w, "Pending", "what the cluster wrote into a PVC stays")
			}
		})
	}
}

func admissionReview(namespace, node string) string {
	return "{apiVersion: admission.k8s.io/v1, kind: AdmissionReview, request: {uid: u, kind: {version: v1, kind: Pod}, resource: {version: v1, resource: pods}, " +
		"operation: CREATE, name: p, namespace: " + namespace + ", object: " + podYAML("p", node) + "}}"
}

// TestReviewListsPlacesLive: for a DaemonSet all Nodes are listed once, and the
// claim's PVCs are read live.
func TestReviewListsPlacesLive(t *testing.T) {
	s := newObjectServer(t, "", labObjects()...)
	got := review(t, joinDocs(workloadYAML("apps/v1", "DaemonSet", "a", ""), workloadYAML("apps/v1", "DaemonSet", "b", "")), "-f", "-", "-o", "json", "--server", s.URL, "-n", "lab")
	require.Zero(t, got.code, got.stderr)
	for _, r := range got.results(t) {
		assert.Equal(t, []placeGiven{
			{Node: "oslo", Claim: "weights", State: "Missing", Outcome: "waits for weights-oslo"}, {Node: "rome", Claim: "weights", State: "Ready", PVC: "weights-rome", Outcome: "mounts weights-rome"},
		}, r.Places, r.Name)
		assert.Equal(t, []string{`claim "weights" is not ready on 1 of 2 nodes: oslo (Missing)`}, r.Warnings)
	}
	assert.Equal(t, 1, s.asked("/nodes"))
	assert.Equal(t, 1, s.asked("/namespaces/lab"))
}

func TestReviewWhereTheClusterCantBeRead(t *testing.T) {
	cases := map[string]struct {
		forbidden string
		in        string
		code      int
		verdict   string
		stderr    string
		warning   string
	}{
		"PVCs: nothing can be told":                          {"persistentvolumeclaims", joinDocs(podYAML("p", "")), 2, "refused", "", ""},
		"Nodes, for a DaemonSet: its places can't be told":   {"nodes", workloadYAML("apps/v1", "DaemonSet", "d", ""), 2, "admitted", "berth review: can't list nodes: ", ""},
		"namespaces: they count as opted in, with a warning": {"namespaces/lab", strings.ReplaceAll(podYAML("p", ""), "persistentVolumeClaim", "none"), 0, "admitted", "", `namespace "lab" can't be read, so it counts as opted in`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newObjectServer(t, tc.forbidden, labObjects()...)
			got := review(t, tc.in, "-f", "-", "-o", "json", "--server", s.URL, "-n", "lab")
			assert.Equal(t, tc.code, got.code)
			results := got.results(t)
			require.Len(t, results, 1)
			assert.Equal(t, tc.verdict, results[0].Verdict)
			if tc.verdict == "refused" {
				assert.Equal(t, "ClusterUnreadable", results[0].Reason)
			}
			assert.Contains(t, got.stderr, tc.stderr)
			assert.Contains(t, strings.Join(results[0].Warnings, "\n"), tc.warning)
		})
	}
}

func TestReviewWithoutACluster(t *testing.T) {
	cases := map[string]struct {
		in   string
		code int
		says string
	}{
		"the input's Nodes and PVCs are cluster enough": {joinDocs(nodeYAML("rome"), boundPVC("rome"), podYAML("p", "rome")), 0, ""},
		"PVCs alone are, too":                           {joinDocs(boundPVC("rome"), podYAML("p", "")), 1, ""},
		"with neither nothing can be told":              {podYAML("p", "rome"), 2, "berth review: no cluster: "},
		"with neither, what is no object is told, too":  {joinDocs("text", podYAML("p", "rome")), 2, "berth review: stdin:1: not a Kubernetes object\nberth review: no cluster: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := review(t, tc.in, "-f", "-", "-n", "lab")
			assert.Equal(t, tc.code, got.code, got.stdout)
			assert.True(t, strings.HasPrefix(got.stderr, tc.says), got.stderr)
		})
	}
	t.Run("a kubeconfig that does not exist is bad news, not no cluster", func(t *testing.T) {
		got := review(t, joinDocs(nodeYAML("rome"), podYAML("p", "rome")), "-f", "-", "--kubeconfig", "missing")
		assert.Equal(t, 2, got.code)
		assert.Contains(t, got.stderr, "read the kubeconfig: ")
	})
}

func TestReviewNamespaceOfTheKubeconfig(t *testing.T) {
	s := newObjectServer(t, "", labObjects()...)
	config := writeTestFile(t, "config", "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {server: "+s.URL+"}}]\n"+
		"users: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: k, user: u, namespace: late}}, {name: d, context: {cluster: k, user: u}}]\n")
	for context, want := range map[string]string{"c": "late", "d": "default"} {
		got := review(t, podYAML("p", ""), "-f", "-", "-o", "json", "--kubeconfig", config, "--context", context)
		assert.Equal(t, want, got.results(t)[0].Namespace)
	}
}

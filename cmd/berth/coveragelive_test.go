package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/claim"
)

// TestCoverageListsOnce: against a cluster there is one call for each resource,
// and PVCs are selected by the claim label.
func TestCoverageListsOnce(t *testing.T) {
	s := newObjectServer(t, "", labObjects()...)
	got := runOffline(t, "", "coverage", "-n", "lab", "-o", "json", "--server", s.URL)
	assert.Equal(t, 1, got.code)
	assert.Empty(t, got.stderr)
	found := covered(t, got)
	require.Len(t, found, 1)
	assert.Equal(t, []*placeCovered{
		{Node: "oslo", State: claim.StateMissing}, {Node: "rome", State: claim.StateReady, PVC: "weights-rome"},
	}, found[0].Places)
	assert.ElementsMatch(t, []string{"/api/v1/nodes", "/api/v1/namespaces/lab/persistentvolumeclaims", "/api/v1/persistentvolumes"}, s.paths)
}

func TestCoverageOfAllNamespaces(t *testing.T) {
	s := newObjectServer(t, "", append(labObjects(), strings.ReplaceAll(boundPVC("oslo"), "namespace: lab", "namespace: late"))...)
	found := covered(t, runOffline(t, "", "coverage", "-A", "-o", "json", "--server", s.URL))
	require.Len(t, found, 2)
	assert.Equal(t, "lab", found[0].Namespace)
	assert.Equal(t, "late", found[1].Namespace)
	assert.Equal(t, 1, s.asked("/persistentvolumeclaims"))
}

func TestCoverageSelectsPVCs(t *testing.T) {
	objects := newObjectServer(t, "", labObjects()...)
	selectors := make(chan string, 10)
	spy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		selectors <- r.URL.Query().Get("labelSelector")
		objects.ServeHTTP(w, r)
	}))
	t.Cleanup(spy.Close)
	runOffline(t, "", "coverage", "-n", "lab", "--server", spy.URL, "--claim-label", "cache")
	close(selectors)
	var got []string
	for s := range selectors {
		got = append(got, s)
	}
	assert.ElementsMatch(t, []string{"", "cache", ""}, got)
}

func TestCoverageOfADaemonSetInACluster(t *testing.T) {
	s := newObjectServer(t, "", labObjects()...)
	got := runOffline(t, workloadYAML("apps/v1", "DaemonSet", "d", ""), "coverage", "-f", "-", "-n", "lab", "-o", "json", "--server", s.URL)
	assert.Equal(t, 1, got.code, got.stderr)
	require.Len(t, covered(t, got), 1)
	assert.Len(t, s.paths, 3)
}

func TestCoverageWhereTheClusterCantBeRead(t *testing.T) {
	cases := map[string]struct {
		forbidden string
		code      int
		stderr    string
	}{
		"Nodes":                        {"nodes", 2, "berth coverage: can't list nodes: "},
		"PVCs":                         {"persistentvolumeclaims", 2, "berth coverage: can't list persistentvolumeclaims: "},
		"PVs: the rest is worth while": {"persistentvolumes", 1, "so PVCs are not checked against their volumes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newObjectServer(t, tc.forbidden, labObjects()...)
			got := runOffline(t, "", "coverage", "-n", "lab", "--server", s.URL)
			assert.Equal(t, tc.code, got.code)
			assert.Contains(t, got.stderr, tc.stderr)
			assert.Equal(t, tc.code == 2, got.stdout == "")
		})
	}
	t.Run("a cluster file that isn't there", func(t *testing.T) {
		got := runOffline(t, "", "coverage", "--cluster-file", "missing.yaml")
		assert.Equal(t, 2, got.code)
		assert.Contains(t, got.stderr, "berth coverage: cannot read the cluster file: ")
	})
	t.Run("no cluster", func(t *testing.T) {
		got := runOffline(t, "", "coverage")
		assert.Equal(t, 2, got.code)
		assert.Contains(t, got.stderr, "berth coverage: no cluster: ")
	})
}

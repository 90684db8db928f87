package test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/claim"
)

// TestFixturesHaveNothingExtra fails on files that no test reads: they would
// be taken for checked.
func TestFixturesHaveNothingExtra(t *testing.T) {
	known := []string{"case.yaml", "review.json", goldenFile}
	for _, f := range loadFixtures(t) {
		entries, err := os.ReadDir(f.dir)
		require.NoError(t, err)
		for _, e := range entries {
			ok := slices.Contains(known, e.Name()) || e.Name() == ownCluster && f.rules.Cluster == ownCluster
			assert.True(t, ok, "%s/%s is read by nobody", f.slug, e.Name())
		}
	}
	subjects, err := os.ReadDir(fixturesDir)
	require.NoError(t, err)
	for _, s := range subjects {
		require.True(t, s.IsDir(), "%s is no subject", s.Name())
		cases, err := os.ReadDir(filepath.Join(fixturesDir, s.Name()))
		require.NoError(t, err)
		assert.NotEmpty(t, cases, "%s is empty", s.Name())
	}
}

// TestClustersAreUsed fails on a cluster that no case runs under.
func TestClustersAreUsed(t *testing.T) {
	used := map[string]bool{}
	for _, f := range loadFixtures(t) {
		used[f.clusterFile()] = true
	}
	files, err := os.ReadDir(clustersDir)
	require.NoError(t, err)
	for _, file := range files {
		assert.True(t, used[filepath.Join(clustersDir, file.Name())], "no case uses clusters/%s", file.Name())
	}
}

// TestFixturesSayDifferentThings fails on two cases with one sentence or one
// uid: the second was copied and not made its own.
func TestFixturesSayDifferentThings(t *testing.T) {
	what, uids := map[string]string{}, map[string]string{}
	for _, f := range loadFixtures(t) {
		assert.Empty(t, what[f.rules.What], "%s says what another case says", f.slug)
		what[f.rules.What] = f.slug
		uid := uidOf(t, f.review)
		assert.Empty(t, uids[uid], "%s has another case's uid", f.slug)
		uids[uid] = f.slug
	}
}

// TestEveryReasonHasAFixture holds that each reason a pod can be refused for is
// shown. The others need a broken API server, or a bug.
func TestEveryReasonHasAFixture(t *testing.T) {
	shown := map[string]bool{}
	for _, f := range loadFixtures(t) {
		shown[f.rules.Reason] = true
	}
	elsewhere := []claim.Reason{claim.ClusterUnreadable, claim.InternalError}
	for _, reason := range claim.Reasons() {
		if !slices.Contains(elsewhere, reason) {
			assert.True(t, shown[string(reason)], "no fixture is refused for %s", reason)
		}
	}
}

// TestReviewsAreAsTheAPIServerSendsThem fails on a review that was cut short by hand.
func TestReviewsAreAsTheAPIServerSendsThem(t *testing.T) {
	for _, f := range loadFixtures(t) {
		review := decodeObject(t, f.review)
		assert.Equal(t, "AdmissionReview", review["kind"], f.slug)
		assert.Equal(t, "admission.k8s.io/v1", review["apiVersion"], f.slug)
		request, ok := review["request"].(map[string]any)
		require.True(t, ok, f.slug)
		for _, key := range []string{"uid", "kind", "resource", "requestKind", "requestResource", "namespace", "operation", "userInfo", "options"} {
			assert.Contains(t, request, key, f.slug)
		}
	}
}

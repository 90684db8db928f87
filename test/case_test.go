package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const (
	fixturesDir = "fixtures"
	clustersDir = "fixtures/clusters"
	ownCluster  = "cluster.yaml" // beside a case.yaml, for a cluster that one case needs
)

// defaultFlags are a case's flags if it names none.
func defaultFlags() []string { return []string{"--missing-node-pvc=deny"} }

// fixture is one folder of fixtures: a review and what must come of it.
type fixture struct {
	slug   string // subject/case
	dir    string
	review []byte
	rules  caseFile
}

// caseFile is a case.yaml.
type caseFile struct {
	What    string   `json:"what"`
	Path    string   `json:"path"`
	Cluster string   `json:"cluster"` // a file of clusters without its suffix, or cluster.yaml beside this one
	Flags   []string `json:"flags"`   // of berth serve, in place of the default ones

	Verdict string `json:"verdict"` // allowed, rewritten or refused
	Reason  string `json:"reason"`  // of a refusal: the audit annotation
	Code    int32  `json:"code"`    // of a refusal
	// ClaimNames are the claimNames of all persistentVolumeClaim volumes after
	// the patch, by volume; for an admitted pod that has any.
	ClaimNames         map[string]string `json:"claimNames"`
	SelectedNode       string            `json:"selectedNode"` // of a node PVC that is rewritten
	MessageNames       []string          `json:"messageNames"`
	MessageDoesNotName []string          `json:"messageDoesNotName"` // neither does the patch
	WarningsName       []string          `json:"warningsName"`
	WarningsDoNotName  []string          `json:"warningsDoNotName"`
}

// clusterFile is the file that --cluster-file gets.
func (f *fixture) clusterFile() string {
	if f.rules.Cluster == ownCluster {
		return filepath.Join(f.dir, ownCluster)
	}
	return filepath.Join(clustersDir, f.rules.Cluster+".yaml")
}

// group is all that decides which server a fixture needs.
func (f *fixture) group() string {
	return strings.Join(append([]string{f.clusterFile()}, f.rules.Flags...), " ")
}

// loadFixtures reads every case. What is amiss with a folder fails the test.
func loadFixtures(t *testing.T) []*fixture {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(fixturesDir, "*", "*"))
	require.NoError(t, err)
	var all []*fixture
	for _, dir := range dirs {
		if filepath.Dir(dir) != clustersDir {
			all = append(all, loadFixture(t, dir))
		}
	}
	require.NotEmpty(t, all)
	return all
}

func loadFixture(t *testing.T, dir string) *fixture {
	t.Helper()
	slug, err := filepath.Rel(fixturesDir, dir)
	require.NoError(t, err)
	f := &fixture{slug: filepath.ToSlash(slug), dir: dir}
	text, err := os.ReadFile(filepath.Join(dir, "case.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(text, &f.rules), "%s/case.yaml", slug)
	if f.rules.Flags == nil {
		f.rules.Flags = defaultFlags()
	}
	f.review, err = os.ReadFile(filepath.Join(dir, "review.json"))
	require.NoError(t, err)
	require.True(t, json.Valid(f.review), "%s/review.json is no JSON", slug)
	f.check(t)
	return f
}

// check holds that a case.yaml says all that it must, and nothing idle.
func (f *fixture) check(t *testing.T) {
	t.Helper()
	c := &f.rules
	assert.Regexp(t, `^if .+, then .+[^.]$`, c.What, "%s: what", f.slug)
	assert.Contains(t, []string{"/mutate", "/validate"}, c.Path, "%s: path", f.slug)
	assert.FileExists(t, f.clusterFile(), "%s: cluster", f.slug)
	switch c.Verdict {
	case "refused":
		assert.NotEmpty(t, c.Reason, "%s: reason", f.slug)
		assert.NotZero(t, c.Code, "%s: code", f.slug)
		assert.NotEmpty(t, c.MessageNames, "%s: messageNames", f.slug)
		assert.Empty(t, c.ClaimNames, "%s: claimNames of a refused pod", f.slug)
		assert.Empty(t, c.WarningsName, "%s: warningsName of a refused pod", f.slug)
	case "rewritten", "allowed":
		assert.Empty(t, c.Reason, "%s: reason", f.slug)
		assert.Zero(t, c.Code, "%s: code", f.slug)
		assert.Empty(t, c.MessageNames, "%s: messageNames of an admitted pod", f.slug)
		assert.True(t, c.Verdict == "allowed" || len(c.ClaimNames) > 0 || c.SelectedNode != "", "%s: claimNames", f.slug)
	default:
		assert.Failf(t, "unknown verdict", "%s: %q", f.slug, c.Verdict)
	}
}

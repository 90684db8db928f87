package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const samplesDir = root + "/deploy/samples/"

// review runs berth review over files, in the cluster of the samples.
func review(files ...string) (string, error) {
	args := []string{"review", "--cluster-file", "testdata/cluster.yaml"}
	for _, file := range files {
		args = append(args, "-f", file)
	}
	return output(tools.berth, args...)
}

// TestSamplesAreAdmitted: Berth admits what it recommends, with node PVCs of
// either kind, and points the first kind at their nodes.
func TestSamplesAreAdmitted(t *testing.T) {
	workloads := []string{samplesDir + "daemonset.yaml", samplesDir + "deployment-pinned.yaml", samplesDir + "statefulset.yaml"}
	cases := map[string]struct {
		pvcs string
		says []string
	}{
		"provisioned ones, for want of which pods wait": {"node-pvcs.yaml", []string{"selected node -> node-a", "selected node -> node-b", "Pending"}},
		"local ones, bound at once":                     {"node-pvcs-local.yaml", []string{"node-a  model-cache  Ready", "node-b  model-cache  Ready"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			said, err := review(append([]string{samplesDir + "namespace.yaml", samplesDir + tc.pvcs}, workloads...)...)
			require.NoError(t, err, said)
			for _, text := range tc.says {
				assert.Contains(t, said, text)
			}
			assert.NotContains(t, said, "refused")
			assert.NotContains(t, said, "skipped")
		})
	}
}

// TestSampleDeploymentNeedsItsPin: what the sample's comment says is so.
func TestSampleDeploymentNeedsItsPin(t *testing.T) {
	text, err := os.ReadFile(samplesDir + "deployment-pinned.yaml")
	require.NoError(t, err)
	pin := "      nodeSelector:\n        kubernetes.io/hostname: node-a\n"
	require.Contains(t, string(text), pin)
	file := filepath.Join(t.TempDir(), "deployment.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(text), pin, "", 1)), 0o600))
	said, err := review(samplesDir+"namespace.yaml", samplesDir+"node-pvcs.yaml", file)
	require.Error(t, err)
	assert.Regexp(t, `Deployment +inference/model-notebook +refused +422 NotPinned`, said)
}

// TestBerthAdmitsItself: nothing of what installs Berth is Berth's business.
func TestBerthAdmitsItself(t *testing.T) {
	said, err := review(berthYAML)
	require.NoError(t, err, said)
	assert.NotContains(t, said, "refused")
}

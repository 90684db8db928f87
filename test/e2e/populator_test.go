//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/test/e2e/cluster"
)

const (
	thankYous = "thankyous.artisanal.populators.com"
	theNote   = `Thank you for the "local" bytes.` // as deploy/samples/populator says
)

// bothNodes are the nodes that the sample is for.
func bothNodes() []string { return []string{"node-a", "node-b"} }

// story is deploy/samples/populator, done in two namespaces: the user's, and the
// populator's.
type story struct {
	*namespace
	populator *namespace
	class     string
}

func TestArtisanalPopulator(t *testing.T) {
	t.Parallel()
	// The kind is the cluster's, so it goes when both stories have ended.
	n := newNamespaceLabelled(t, nil)
	t.Cleanup(func() { n.must("delete", "crd", thankYous, "--ignore-not-found", "--timeout=2m") })
	t.Run("a pod from before the rebind waits and then reads the note, as each pod of a DaemonSet does", func(t *testing.T) {
		t.Parallel()
		testStoryStepByStep(t, &story{newNamespace(t), newNamespaceLabelled(t, nil), provisionedClass})
	})
	t.Run("the script does it in one go, with volumes that an administrator made", func(t *testing.T) {
		t.Parallel()
		testStoryInOneGo(t, &story{newNamespace(t), newNamespaceLabelled(t, nil), localClass})
	})
}

// testStoryStepByStep has volumes made on the nodes that Berth selects.
func testStoryStepByStep(t *testing.T, s *story) {
	s.script("declare")
	s.assertPending()
	early := reader("model-cache")
	early.Labels = nil
	s.apply(pod("early", onHost(early, "node-a")))
	assert.Equal(t, "model-cache-node-a", mounted(s.pod("early"), "cache"))

	s.script("fill")
	for _, node := range bothNodes() {
		assert.Equal(t, node, s.annotationOf("model-cache-"+node, selectedNode))
		assert.Equal(t, corev1.ClaimBound, s.populator.phase("model-cache-"+node+"-prime"))
		assert.Equal(t, node, s.populator.pod("model-cache-"+node+"-prime").Spec.NodeName)
	}
	s.assertPending()
	assert.Equal(t, corev1.PodPending, s.pod("early").Status.Phase)

	s.script("hand-over")
	s.assertHandedOver()
	assert.Equal(t, theNote, s.read(s.awaitReady("early").Name))
	s.must("delete", "pod", "early")
	s.script("read")
	s.assertEachNodeReadsTheNote()

	s.script("tidy")
	got := s.populator.must("get", "pods,pvc")
	assert.Contains(t, got, "No resources found")
	s.assertEachNodeReadsTheNote()
}

func testStoryInOneGo(t *testing.T, s *story) {
	for _, node := range bothNodes() {
		s.populator.localVolume(node, "model-cache-"+node+"-prime", "")
	}
	out := s.script()
	s.assertHandedOver()
	s.assertEachNodeReadsTheNote()
	assert.Contains(t, out, theNote, "the script does not show what was read")
}

// script runs the sample's script, which has to succeed, as a user does, but with the
// cluster's own image.
func (s *story) script(steps ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(s.cluster.Root, "deploy", "samples", "populator", "populate.sh"), steps...)
	cmd.Env = append(os.Environ(),
		"PATH="+s.cluster.Bin()+string(os.PathListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+s.cluster.Kubeconfig(),
		"NAMESPACE="+s.name,
		"POPULATOR_NAMESPACE="+s.populator.name,
		"STORAGE_CLASS="+s.class,
		"IMAGE="+cluster.AppImage,
		`WRITE_COMMAND=["/app", "write", "/cache/note", "$(NOTE)"]`,
		`READ_COMMAND=["/app", "serve", "/cache/note"]`,
	)
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, "populate.sh %v:\n%s", steps, out)
	return string(out)
}

func (s *story) assertPending() {
	s.t.Helper()
	for _, node := range bothNodes() {
		assert.Equal(s.t, corev1.ClaimPending, s.phase("model-cache-"+node))
	}
}

func (s *story) assertHandedOver() {
	s.t.Helper()
	for _, node := range bothNodes() {
		assert.Equal(s.t, corev1.ClaimBound, s.phase("model-cache-"+node))
		assert.Equal(s.t, []string{node}, s.hostsOf("model-cache-"+node))
		assert.Equal(s.t, corev1.ClaimLost, s.populator.phase("model-cache-"+node+"-prime"))
	}
}

func (s *story) assertEachNodeReadsTheNote() {
	s.t.Helper()
	pods := s.awaitPods(2)
	for i, node := range bothNodes() {
		assert.Equal(s.t, node, pods[i].Spec.NodeName)
		assert.Equal(s.t, "model-cache-"+node, mounted(&pods[i], "cache"))
		assert.Equal(s.t, theNote, s.read(pods[i].Name))
	}
}

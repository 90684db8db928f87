//go:build e2e

package e2e

import (
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/test/e2e/cluster"
)

// There is one cluster a machine: its network has a fixed name.
func TestAClusterThatRunsIsLeftAloneByAnotherCheckout(t *testing.T) {
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	other, err := cluster.New("/tmp/other", io.Discard) // a short path: it is part of a socket's
	require.NoError(t, err)
	assert.ErrorContains(t, other.Up(t.Context()), "a cluster of another checkout runs on this machine: make cluster-down there")
	require.NoError(t, other.Down(t.Context()))
	assert.NoDirExists(t, other.Bin(), "something was built, or left")
	// Berth's pods and the API server still reach each other.
	assert.NoError(t, n.askForPod())
}

package lookup

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"berth.dev/berth/webhook/claim"
)

var (
	_ cache.TransformingStore = (*sink[*corev1.Node, claim.Node])(nil)
	_ claim.View              = (*snapshot)(nil)
)

// informed starts informers on a server and waits until they are synced.
func informed(t *testing.T, server *apiServer) (*Store, *Informers) {
	store, _ := defaultStore()
	in := NewInformers(server.client(t, InformerConfig), store, slog.New(&journal{}))
	run(t, in)
	require.Eventually(t, func() bool { return in.Synced() == nil }, soon, tick)
	return store, in
}

func eventually(t *testing.T, store *Store, what string, f func(claim.View) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return f(store.View()) }, soon, tick, what)
}

func TestInformersFollowTheCluster(t *testing.T) {
	for name, streams := range map[string]bool{
		"where the server streams lists":                  true,
		"where it only lists, in pages, and then watches": false,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t, streams)
			server.put(false, apiNode("node-a", map[string]string{corev1.LabelHostname: "host-a"}), apiPV("pv-x-a", "host-a"), apiClass("local"))
			for _, node := range []string{"node-a", "node-b", "node-c", "node-d", "node-e"} {
				server.put(false, apiPVC("ml", "x-"+node, "x", node))
			}
			store, _ := informed(t, server)
			checkInitial(t, store.View())
			checkWatch(t, server, store)
			checkRelist(t, server, store)
			if streams {
				assert.Zero(t, server.count("list persistentvolumeclaims"))
				assert.Equal(t, 2, server.count("stream persistentvolumeclaims"))
			} else {
				assert.Positive(t, server.count("list persistentvolumeclaims"))
			}
			server.with(func(s *apiServer) { assert.Equal(t, "berth/informers", s.agent) })
		})
	}
}

func checkInitial(t *testing.T, view claim.View) {
	assert.Equal(t, []string{"node-a", "node-b", "node-c", "node-d", "node-e"}, view.Holders("ml", "x"))
	assert.Equal(t, claim.Summary{Total: 5, Live: 5, Named: 5, Revisions: 1}, view.Summary("ml", "x"))
	require.Len(t, view.NodesByLabel(corev1.LabelHostname, "host-a"), 1)
	assert.Equal(t, "node-a", view.NodesByLabel(corev1.LabelHostname, "host-a")[0].Name)
	assert.Equal(t, &claim.PV{Name: "pv-x-a", Affinity: hostnameAffinity("host-a")}, view.PV("pv-x-a"))
	assert.Equal(t, &claim.StorageClass{Name: "local", Provisioner: "csi.example.com", WaitForFirstConsumer: true}, view.StorageClass("local"))
}

// checkWatch changes objects while the informers watch.
func checkWatch(t *testing.T, server *apiServer, store *Store) {
	server.put(false, apiPVC("ml", "x-node-f", "x", "node-f"))
	eventually(t, store, "a new PVC", func(v claim.View) bool { return v.PVC("ml", "x-node-f") != nil })
	server.put(false, apiPVC("ml", "x-node-a", "y", "node-b"))
	eventually(t, store, "a relabelled PVC", func(v claim.View) bool {
		return len(v.NodePVCs("ml", "y", "node-b")) == 1 && len(v.NodePVCs("ml", "x", "node-a")) == 0
	})
	server.remove(false, apiPVC("ml", "x-node-b", "x", "node-b"), apiNode("node-a", nil), apiPV("pv-x-a", ""), apiClass("local"))
	eventually(t, store, "deletions", func(v claim.View) bool {
		return v.PVC("ml", "x-node-b") == nil && v.Node("node-a") == nil && v.PV("pv-x-a") == nil && v.StorageClass("local") == nil
	})
	assert.Equal(t, []string{"node-c", "node-d", "node-e", "node-f"}, store.View().Holders("ml", "x"))
}

// checkRelist changes objects where the watches can't see it, and expires them.
func checkRelist(t *testing.T, server *apiServer, store *Store) {
	server.remove(true, apiPVC("ml", "x-node-c", "x", "node-c"))
	server.put(true, apiPVC("ml", "x-node-g", "x", "node-g"))
	server.compact()
	eventually(t, store, "the new list", func(v claim.View) bool {
		return v.PVC("ml", "x-node-c") == nil && v.PVC("ml", "x-node-g") != nil
	})
	assert.Equal(t, []string{"node-d", "node-e", "node-f", "node-g"}, store.View().Holders("ml", "x"))
	server.put(false, apiPVC("ml", "x-node-h", "x", "node-h"))
	eventually(t, store, "a watch after the new list", func(v claim.View) bool { return v.PVC("ml", "x-node-h") != nil })
}

func TestSinkTakesObjectsAndItems(t *testing.T) {
	store, _ := defaultStore()
	in := NewInformers(newAPIServer(t, true).client(t, InformerConfig), store, slog.New(&journal{}))
	s := &sink[*corev1.Node, claim.Node]{
		convert: claim.NewNode, set: store.SetNode, replace: store.ReplaceNodes,
		remove: func(n *claim.Node) { store.DeleteNode(n.Name) }, state: in.states[0],
	}
	once, err := s.Transformer()(apiNode("a", nil))
	require.NoError(t, err)
	twice, err := s.Transformer()(once)
	require.NoError(t, err)
	require.NoError(t, s.Replace([]any{twice, apiNode("b", nil)}, "1"))
	assert.NotNil(t, store.View().Node("a"))
	assert.NotNil(t, store.View().Node("b"))
	require.NoError(t, s.Delete(apiNode("a", nil)))
	assert.Nil(t, store.View().Node("a"))

	const unexpected = "unexpected *v1.PersistentVolume among the nodes"
	require.EqualError(t, s.Add(apiPV("v", "")), unexpected)
	require.EqualError(t, s.Delete(apiPV("v", "")), unexpected)
	require.EqualError(t, s.Replace([]any{apiPV("v", "")}, "2"), unexpected)
	assert.NotNil(t, store.View().Node("b"), "a list that can't be read replaces nothing")
	require.NoError(t, s.Resync())
}

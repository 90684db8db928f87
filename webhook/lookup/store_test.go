package lookup

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

func testStore() *Store {
	rules := claim.DefaultRules()
	return NewStore(&rules)
}

func nodePVCOf(claimName, node string) *claim.PVC {
	return &claim.PVC{Namespace: "ml", Name: claimName + "-" + node, Claim: claimName, Node: node, Phase: corev1.ClaimBound}
}

func TestEmptyStoreKnowsNothing(t *testing.T) {
	view := testStore().View()
	assert.Nil(t, view.Node("a"))
	assert.Nil(t, view.PVC("ml", "a"))
	assert.Nil(t, view.PV("a"))
	assert.Nil(t, view.StorageClass("a"))
	assert.Empty(t, view.NodesByLabel(corev1.LabelHostname, ""))
	assert.Empty(t, view.NodePVCs("ml", "x", "a"))
	assert.Zero(t, view.Summary("ml", "x"))
	assert.Empty(t, view.Holders("ml", "x"))
	for range view.AllNodes() {
		t.Error("there is a node")
	}
}

func TestWriteOfWhatIsKnownMakesNoSnapshot(t *testing.T) {
	s := testStore()
	node := func() *claim.Node {
		return &claim.Node{Name: "a", Labels: map[string]string{corev1.LabelHostname: "a"}, Taints: []corev1.Taint{{Key: "gpu"}}}
	}
	pv := func() *claim.PV { return &claim.PV{Name: "v", Affinity: hostnameAffinity("a")} }
	s.SetNode(node())
	s.SetPVC(nodePVCOf("x", "a"))
	s.SetPV(pv())
	before := s.View()
	s.SetNode(node())
	s.SetPVC(nodePVCOf("x", "a"))
	s.SetPV(pv())
	s.DeleteNode("b")
	s.DeletePVC("ml", "none")
	s.DeletePV("none")
	s.DeleteStorageClass("none")
	assert.Same(t, before, s.View())
}

func TestEqualAffinitiesAreOneObject(t *testing.T) {
	s := testStore()
	s.SetPV(&claim.PV{Name: "v1", Affinity: hostnameAffinity("a")})
	s.SetPV(&claim.PV{Name: "v2", Affinity: hostnameAffinity("a")})
	s.SetPV(&claim.PV{Name: "v3", Affinity: hostnameAffinity("b")})
	view := s.View()
	assert.Same(t, view.PV("v1").Affinity, view.PV("v2").Affinity)
	assert.Equal(t, hostnameAffinity("b"), view.PV("v3").Affinity)
}

func TestStoreKeepsItsOwnCopies(t *testing.T) {
	s := testStore()
	n := &claim.Node{Name: "a", Labels: map[string]string{corev1.LabelHostname: "a"}}
	p := nodePVCOf("x", "a")
	s.SetNode(n)
	s.SetPVC(p)
	n.Labels[corev1.LabelHostname] = "changed"
	p.Node = "changed"
	assert.Equal(t, "a", s.View().Node("a").Labels[corev1.LabelHostname])
	assert.Equal(t, "a", s.View().PVC("ml", "x-a").Node)
}

func TestWindowsOnTheIndexCannotBeAppendedInto(t *testing.T) {
	s := testStore()
	s.SetNode(&claim.Node{Name: "a", Labels: map[string]string{corev1.LabelHostname: "h"}})
	s.SetNode(&claim.Node{Name: "b", Labels: map[string]string{corev1.LabelHostname: "h"}})
	s.SetPVC(nodePVCOf("x", "a"))
	view := s.View()
	for name, got := range map[string]int{
		"nodes by label": cap(view.NodesByLabel(corev1.LabelHostname, "h")) - 2,
		"node PVCs":      cap(view.NodePVCs("ml", "x", "a")) - 1,
		"holders":        cap(view.Holders("ml", "x")) - 1,
	} {
		assert.Zero(t, got, name)
	}
}

func TestPoolForgetsRatherThanGrows(t *testing.T) {
	p := newPool()
	for i := range poolLimit + 10 {
		p.text(fmt.Sprint(i))
	}
	assert.LessOrEqual(t, len(p.strings), poolLimit)
	assert.Equal(t, "7", p.text("7"))
}

// Run with -race: a reader must never see a picture that is half changed.
func TestReadersSeeWholePicturesWhileWritersWrite(t *testing.T) {
	s := testStore()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				view := s.View()
				if !assert.Len(t, view.Holders("ml", "x"), view.Summary("ml", "x").Live) {
					return
				}
			}
		})
	}
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := range 200 {
				s.SetPVC(nodePVCOf("x", fmt.Sprintf("n%d-%d", w, i)))
				if i%3 == 0 {
					s.DeletePVC("ml", fmt.Sprintf("x-n%d-%d", w, i))
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	require.Equal(t, 3*133, s.View().Summary("ml", "x").Total)
}

func TestOldSnapshotKeepsItsHoldersWhileNodesCome(t *testing.T) {
	s := testStore()
	var views []claim.View
	var want [][]string
	for i := 9; i >= 0; i-- { // each comes before the others
		s.SetPVC(nodePVCOf("x", fmt.Sprint(i)))
		views = append(views, s.View())
		held := []string{fmt.Sprint(i)}
		if len(want) > 0 {
			held = append(held, want[len(want)-1]...)
		}
		want = append(want, held)
	}
	for i, view := range views {
		assert.Equal(t, want[i], view.Holders("ml", "x"))
	}
}

func TestNodePVCStates(t *testing.T) {
	rules := claim.DefaultRules()
	store := NewStore(&rules)
	set := func(name string, change func(*claim.PVC)) {
		p := &claim.PVC{Namespace: "ml", Name: name, Claim: "x", Node: name, Phase: "Bound"}
		change(p)
		store.SetPVC(p)
	}
	set("a", func(*claim.PVC) {})
	set("b", func(p *claim.PVC) { p.Phase = "Pending" })
	set("c", func(p *claim.PVC) { p.HasPopulated = true })
	set("d", func(p *claim.PVC) { p.Deleting = true })
	set("e", func(p *claim.PVC) { p.Phase = "Lost" })
	set("f", func(p *claim.PVC) { p.Node = "" }) // no node PVC
	assert.Equal(t, map[string]int{"ready": 1, "pending": 1, "unfilled": 1, "deleting": 1, "lost": 1}, store.NodePVCStates())
}

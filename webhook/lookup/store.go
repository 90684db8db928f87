package lookup

import (
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"berth.dev/berth/webhook/claim"
)

// Store is the current picture of a cluster. Writers take turns and each
// publishes a new snapshot; readers never wait. It keeps copies: what is
// passed to it stays the caller's, but for the slices and affinities in it,
// which must not change any more. The zero Store can't be used: see [NewStore].
type Store struct {
	keys    claim.Keys
	rules   claim.Rules
	pool    *pool
	mu      sync.Mutex // held by writers
	current atomic.Pointer[snapshot]
}

// NewStore makes an empty Store. It indexes Nodes by the identity labels of
// the rules, and counts node PVCs named by their name template.
func NewStore(rules *claim.Rules) *Store {
	s := &Store{keys: rules.Keys, rules: *rules, pool: newPool()}
	s.current.Store(newSnapshot(rules))
	return s
}

// View is the picture as it is now. It never changes; ask again for a newer one.
func (s *Store) View() claim.View { return s.current.Load() }

// change publishes what a writer makes of the current snapshot, unless the
// writer says that nothing changed.
func (s *Store) change(write func(*snapshot) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := *s.current.Load()
	if write(&next) {
		s.current.Store(&next)
	}
}

// NodePVCStates counts the node PVCs by state: ready, pending, unfilled,
// deleting, lost. It looks at each, so it is for a scrape and not for a decision.
func (s *Store) NodePVCStates() map[string]int {
	counts := map[string]int{}
	for p := range s.current.Load().nodePVCs.all() {
		counts[strings.ToLower(string(s.rules.StateOf(p)))]++
	}
	return counts
}

// SetNode adds a Node or puts it in the place of the one of its name.
func (s *Store) SetNode(n *claim.Node) {
	n = s.pool.node(n)
	s.change(func(next *snapshot) bool {
		old := next.Node(n.Name)
		if reflect.DeepEqual(old, n) {
			return false
		}
		next.changeNode(old, n)
		return true
	})
}

// DeleteNode removes a Node, if it is there.
func (s *Store) DeleteNode(name string) {
	s.change(func(next *snapshot) bool {
		old := next.Node(name)
		next.changeNode(old, nil)
		return old != nil
	})
}

// ReplaceNodes makes these the only Nodes.
func (s *Store) ReplaceNodes(nodes []*claim.Node) {
	nodes = each(nodes, s.pool.node)
	s.change(func(next *snapshot) bool {
		next.replaceNodes(nodes)
		return true
	})
}

// SetPVC adds a PVC or puts it in the place of the one of its name.
func (s *Store) SetPVC(p *claim.PVC) {
	p = s.pool.pvc(p)
	s.change(func(next *snapshot) bool {
		old := next.PVC(p.Namespace, p.Name)
		if old != nil && *old == *p {
			return false
		}
		next.changePVC(old, p)
		return true
	})
}

// DeletePVC removes a PVC, if it is there.
func (s *Store) DeletePVC(namespace, name string) {
	s.change(func(next *snapshot) bool {
		old := next.PVC(namespace, name)
		next.changePVC(old, nil)
		return old != nil
	})
}

// ReplacePVCs makes these the only PVCs.
func (s *Store) ReplacePVCs(pvcs []*claim.PVC) {
	pvcs = each(pvcs, s.pool.pvc)
	s.change(func(next *snapshot) bool {
		next.replacePVCs(pvcs)
		return true
	})
}

// SetPV adds a PersistentVolume or puts it in the place of the one of its name.
func (s *Store) SetPV(v *claim.PV) {
	v = s.pool.pv(v)
	s.change(func(next *snapshot) bool {
		old := next.PV(v.Name)
		if old != nil && *old == *v { // affinities are pooled: equal ones are one
			return false
		}
		next.changePV(old, v)
		return true
	})
}

// DeletePV removes a PersistentVolume, if it is there.
func (s *Store) DeletePV(name string) {
	s.change(func(next *snapshot) bool {
		old := next.PV(name)
		next.changePV(old, nil)
		return old != nil
	})
}

// ReplacePVs makes these the only PersistentVolumes.
func (s *Store) ReplacePVs(pvs []*claim.PV) {
	pvs = each(pvs, s.pool.pv)
	s.change(func(next *snapshot) bool {
		next.replacePVs(pvs)
		return true
	})
}

// SetStorageClass adds a StorageClass or puts it in the place of the one of its name.
func (s *Store) SetStorageClass(c *claim.StorageClass) {
	c = s.pool.class(c)
	s.change(func(next *snapshot) bool {
		next.classes = next.classes.with(c)
		return true
	})
}

// DeleteStorageClass removes a StorageClass, if it is there.
func (s *Store) DeleteStorageClass(name string) {
	s.change(func(next *snapshot) bool {
		old := next.classes.get(group{name})
		next.classes = changed(next.classes, old, nil)
		return old != nil
	})
}

// ReplaceStorageClasses makes these the only StorageClasses.
func (s *Store) ReplaceStorageClasses(classes []*claim.StorageClass) {
	classes = each(classes, s.pool.class)
	s.change(func(next *snapshot) bool {
		next.classes = next.classes.of(classes)
		return true
	})
}

func each[V any](list []*V, f func(*V) *V) []*V {
	out := make([]*V, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}

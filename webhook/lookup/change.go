package lookup

import (
	"cmp"
	"slices"

	"berth.dev/berth/webhook/claim"
)

// changeNode puts next in the place of old in every index of Nodes; nil is
// none. Both have the same name.
func (s *snapshot) changeNode(old, next *claim.Node) {
	s.nodes = changed(s.nodes, old, next)
	s.labels = slices.Clone(s.labels)
	for i := range s.labels {
		index := &s.labels[i]
		index.nodes = changed(index.nodes, bearing(old, index.key), bearing(next, index.key))
	}
}

// bearing is the Node if it bears the label, else nil.
func bearing(n *claim.Node, key string) *claim.Node {
	if n == nil {
		return nil
	}
	if _, ok := n.Labels[key]; !ok {
		return nil
	}
	return n
}

// changePVC puts next in the place of old in every index of PVCs; nil is
// none. Both have the same namespace and name, but may be node PVCs of
// different claims and nodes, or none.
func (s *snapshot) changePVC(old, next *claim.PVC) {
	s.pvcs = changed(s.pvcs, old, next)
	old, next = nodePVC(old), nodePVC(next)
	s.nodePVCs = changed(s.nodePVCs, old, next)
	switch {
	case old == nil && next == nil:
	case old == nil || next == nil || old.Claim == next.Claim:
		s.recount(old, next)
	default:
		s.recount(old, nil)
		s.recount(nil, next)
	}
}

// nodePVC is the PVC if it is a node PVC, else nil.
func nodePVC(p *claim.PVC) *claim.PVC {
	if p == nil || !p.IsNodePVC() {
		return nil
	}
	return p
}

// recount takes gone out of its claim's state and puts come into it; one of
// them may be nil, and both are of one claim. The index of node PVCs has
// changed already.
func (s *snapshot) recount(gone, come *claim.PVC) {
	next := s.claimState(cmp.Or(come, gone))
	next.count(gone, -1, s.names)
	next.count(come, 1, s.names)
	for _, p := range []*claim.PVC{gone, come} {
		if p != nil {
			held := slices.ContainsFunc(s.NodePVCs(p.Namespace, p.Claim, p.Node), (*claim.PVC).Live)
			next.hold(p.Node, held)
		}
	}
	if next.summary.Total == 0 {
		s.claims = s.claims.without(&next)
		return
	}
	s.claims = s.claims.with(&next)
}

// claimState is a copy of the state of a node PVC's claim, to be changed.
func (s *snapshot) claimState(p *claim.PVC) claimState {
	if old := s.claims.get(claimGroup(p.Namespace, p.Claim)); old != nil {
		return *old
	}
	return claimState{namespace: p.Namespace, claim: p.Claim, revisions: map[string]int{}}
}

// changed gives the table with next instead of old; nil is none.
func changed[V any](t table[V], old, next *V) table[V] {
	if old != nil && (next == nil || t.slot(old) != t.slot(next)) {
		t = t.without(old)
	}
	if next != nil {
		t = t.with(next)
	}
	return t
}

// replaceNodes makes these the only Nodes.
func (s *snapshot) replaceNodes(nodes []*claim.Node) {
	s.nodes = s.nodes.of(nodes)
	nodes = slices.Collect(s.nodes.all())
	s.labels = slices.Clone(s.labels)
	for i := range s.labels {
		var bear []*claim.Node
		for _, n := range nodes {
			if bearing(n, s.labels[i].key) != nil {
				bear = append(bear, n)
			}
		}
		s.labels[i].nodes = s.labels[i].nodes.of(bear)
	}
}

// replacePVCs makes these the only PVCs.
func (s *snapshot) replacePVCs(pvcs []*claim.PVC) {
	s.pvcs = s.pvcs.of(pvcs)
	nodePVCs := make([]*claim.PVC, 0, len(pvcs))
	for p := range s.pvcs.all() {
		if p.IsNodePVC() {
			nodePVCs = append(nodePVCs, p)
		}
	}
	s.nodePVCs = s.nodePVCs.of(nodePVCs)
	s.claims = s.claims.of(summarize(nodePVCs, s.names))
}

// changePV puts next in the place of old in every index of
// PersistentVolumes; nil is none.
func (s *snapshot) changePV(old, next *claim.PV) {
	s.pvs = changed(s.pvs, old, next)
	s.free = changed(s.free, available(old), available(next))
}

// available is the PersistentVolume if it waits for a claim, else nil.
func available(v *claim.PV) *claim.PV {
	if v == nil || !v.Available {
		return nil
	}
	return v
}

// replacePVs makes these the only PersistentVolumes.
func (s *snapshot) replacePVs(pvs []*claim.PV) {
	s.pvs = s.pvs.of(pvs)
	var free []*claim.PV
	for v := range s.pvs.all() {
		if v.Available {
			free = append(free, v)
		}
	}
	s.free = s.free.of(free)
}

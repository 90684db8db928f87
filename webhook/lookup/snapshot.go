package lookup

import (
	"iter"
	"slices"

	"berth.dev/berth/webhook/claim"
)

// snapshot is one picture of the cluster. Once published it never changes; a
// writer works on a copy.
type snapshot struct {
	names    claim.NameTemplate
	nodes    table[claim.Node]
	labels   []labelIndex
	pvcs     table[claim.PVC] // all PVCs, by namespace and name
	nodePVCs table[claim.PVC] // node PVCs, by namespace, claim and node
	claims   table[claimState]
	pvs      table[claim.PV]
	free     table[claim.PV] // the Available ones, by class
	classes  table[claim.StorageClass]
}

// labelIndex holds the Nodes that bear one identity label, by its value: an
// absent label is not the empty string.
type labelIndex struct {
	key   string
	nodes table[claim.Node]
}

func newSnapshot(rules *claim.Rules) *snapshot {
	s := &snapshot{
		names:    rules.Names,
		nodes:    newTable(nodeSlot),
		pvcs:     newTable(pvcSlot),
		nodePVCs: newTable(nodePVCSlot),
		claims:   newTable(claimStateSlot),
		pvs:      newTable(func(v *claim.PV) slot { return slot{group: group{v.Name}} }),
		free:     newTable(func(v *claim.PV) slot { return slot{group: group{v.StorageClass}, name: v.Name} }),
		classes:  newTable(func(c *claim.StorageClass) slot { return slot{group: group{c.Name}} }),
	}
	for _, key := range rules.Keys.Identity() {
		s.labels = append(s.labels, labelIndex{key: key, nodes: newTable(func(n *claim.Node) slot {
			return slot{group: group{n.Labels[key]}, name: n.Name}
		})})
	}
	return s
}

func nodeSlot(n *claim.Node) slot { return slot{group: group{n.Name}} }

func pvcSlot(p *claim.PVC) slot { return slot{group: group{p.Namespace, p.Name}} }

func nodePVCSlot(p *claim.PVC) slot {
	return slot{group: group{p.Namespace, p.Claim, p.Node}, name: p.Name}
}

// Node is part of [claim.View].
func (s *snapshot) Node(name string) *claim.Node { return s.nodes.get(group{name}) }

// NodesByLabel is part of [claim.View].
func (s *snapshot) NodesByLabel(key, value string) []*claim.Node {
	for i := range s.labels {
		if s.labels[i].key == key {
			return s.labels[i].nodes.find(group{value})
		}
	}
	return nil
}

// AllNodes is part of [claim.View].
func (s *snapshot) AllNodes() iter.Seq[*claim.Node] { return s.nodes.all() }

// PVC is part of [claim.View].
func (s *snapshot) PVC(namespace, name string) *claim.PVC { return s.pvcs.get(group{namespace, name}) }

// NodePVCs is part of [claim.View].
func (s *snapshot) NodePVCs(namespace, claimName, node string) []*claim.PVC {
	return s.nodePVCs.find(group{namespace, claimName, node})
}

// Summary is part of [claim.View].
func (s *snapshot) Summary(namespace, claimName string) claim.Summary {
	if state := s.claims.get(claimGroup(namespace, claimName)); state != nil {
		return state.summary
	}
	return claim.Summary{}
}

// Holders is part of [claim.View].
func (s *snapshot) Holders(namespace, claimName string) []string {
	if state := s.claims.get(claimGroup(namespace, claimName)); state != nil {
		return slices.Clip(state.holders)
	}
	return nil
}

// PV is part of [claim.View].
func (s *snapshot) PV(name string) *claim.PV { return s.pvs.get(group{name}) }

// AvailablePVs is part of [claim.View].
func (s *snapshot) AvailablePVs(class string) []*claim.PV { return s.free.find(group{class}) }

// StorageClass is part of [claim.View].
func (s *snapshot) StorageClass(name string) *claim.StorageClass {
	if name == "" {
		return claim.DefaultClass(s.classes.all())
	}
	return s.classes.get(group{name})
}

// Package claimtest has a View for tests: it answers by looking at every
// object, so it is slow and plainly right.
package claimtest

import (
	"iter"
	"slices"
	"strings"

	"berth.dev/berth/webhook/claim"
)

// View is a picture of a cluster as plain lists. The zero value is empty.
type View struct {
	Nodes   []*claim.Node
	PVCs    []*claim.PVC
	PVs     []*claim.PV
	Classes []*claim.StorageClass
	Names   claim.NameTemplate // of the rules, for summaries
}

var _ claim.View = (*View)(nil)

// Node is the Node of this name, or nil.
func (v *View) Node(name string) *claim.Node {
	return find(v.Nodes, func(n *claim.Node) bool { return n.Name == name })
}

// NodesByLabel are the Nodes that bear a label.
func (v *View) NodesByLabel(key, value string) []*claim.Node {
	return all(v.Nodes, func(n *claim.Node) bool { got, ok := n.Labels[key]; return ok && got == value })
}

// AllNodes are all Nodes.
func (v *View) AllNodes() iter.Seq[*claim.Node] { return slices.Values(v.Nodes) }

// PVC is the PVC of this name, or nil.
func (v *View) PVC(namespace, name string) *claim.PVC {
	return find(v.PVCs, func(p *claim.PVC) bool { return p.Namespace == namespace && p.Name == name })
}

// OfClaim are all node PVCs of a claim.
func (v *View) OfClaim(namespace, name string) []*claim.PVC {
	return all(v.PVCs, func(p *claim.PVC) bool { return p.Namespace == namespace && p.Claim == name && p.IsNodePVC() })
}

// NodePVCs are the node PVCs of a claim for one node.
func (v *View) NodePVCs(namespace, name, node string) []*claim.PVC {
	return all(v.OfClaim(namespace, name), func(p *claim.PVC) bool { return p.Node == node })
}

// Summary counts the node PVCs of a claim.
func (v *View) Summary(namespace, name string) claim.Summary {
	return claim.Summarize(v.OfClaim(namespace, name), v.Names)
}

// Holders are the nodes with a live node PVC of the claim, sorted.
func (v *View) Holders(namespace, name string) []string {
	var nodes []string
	for _, p := range v.OfClaim(namespace, name) {
		if p.Live() {
			nodes = append(nodes, p.Node)
		}
	}
	slices.SortFunc(nodes, strings.Compare)
	return slices.Compact(nodes)
}

// PV is the PersistentVolume of this name, or nil.
func (v *View) PV(name string) *claim.PV {
	return find(v.PVs, func(p *claim.PV) bool { return p.Name == name })
}

// AvailablePVs are the PersistentVolumes of a class that wait for a claim.
func (v *View) AvailablePVs(class string) []*claim.PV {
	return all(v.PVs, func(p *claim.PV) bool { return p.Available && p.StorageClass == class })
}

// StorageClass is the StorageClass of this name, or nil; "" is the default class.
func (v *View) StorageClass(name string) *claim.StorageClass {
	if name == "" {
		return claim.DefaultClass(slices.Values(v.Classes))
	}
	return find(v.Classes, func(c *claim.StorageClass) bool { return c.Name == name })
}

// Answer answers a question as a live read of this cluster would.
func (v *View) Answer(q claim.Question) claim.Answer {
	switch q.Kind {
	case claim.AskNode:
		return claim.Answer{Nodes: one(v.Node(q.Name))}
	case claim.AskNodesByLabel:
		return claim.Answer{Nodes: v.NodesByLabel(q.Name, q.Value)}
	case claim.AskPVC:
		return claim.Answer{PVCs: one(v.PVC(q.Namespace, q.Name))}
	case claim.AskClaim:
		return claim.Answer{PVCs: v.OfClaim(q.Namespace, q.Name)}
	case claim.AskPV:
		return claim.Answer{PV: v.PV(q.Name)}
	default:
		return claim.Answer{StorageClass: v.StorageClass(q.Name)}
	}
}

func one[T any](x *T) []*T {
	if x == nil {
		return nil
	}
	return []*T{x}
}

func find[T any](list []*T, ok func(*T) bool) *T {
	if i := slices.IndexFunc(list, ok); i >= 0 {
		return list[i]
	}
	return nil
}

func all[T any](list []*T, ok func(*T) bool) []*T {
	var out []*T
	for _, x := range list {
		if ok(x) {
			out = append(out, x)
		}
	}
	return out
}

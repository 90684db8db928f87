package main

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"berth.dev/berth/webhook/claim"
)

// appliedReader reads the cluster live for the decision about one object; the
// input's own objects count as applied, so they win over what the cluster has.
type appliedReader struct {
	world *world
	facts claim.Facts // all that was answered so far
}

// Read answers the questions of a decision.
func (r *appliedReader) Read(ctx context.Context, questions []claim.Question) (claim.Facts, error) {
	facts, err := r.world.live.Read(ctx, questions)
	if err != nil {
		return nil, err
	}
	for q, a := range facts {
		facts[q] = r.world.over(q, a)
	}
	maps.Copy(r.facts, facts)
	return facts, nil
}

// over lays the input's objects over a live answer. The store has them as they
// are after they were applied.
func (w *world) over(q claim.Question, a claim.Answer) claim.Answer {
	view := w.store.View()
	switch q.Kind {
	case claim.AskNode:
		if w.applied.nodes[q.Name] != nil {
			a.Nodes = []*claim.Node{view.Node(q.Name)}
		}
	case claim.AskNodesByLabel:
		a.Nodes = w.overNodes(view.NodesByLabel(q.Name, q.Value), a.Nodes)
	case claim.AskPVC:
		if w.hasPVC(q.Namespace, q.Name) {
			a.PVCs = []*claim.PVC{view.PVC(q.Namespace, q.Name)}
		}
	case claim.AskClaim:
		a.PVCs = w.overPVCs(view, q, a.PVCs)
	case claim.AskPV:
		if w.applied.pvs[q.Name] != nil {
			a.PV = view.PV(q.Name)
		}
	case claim.AskStorageClass:
		if len(w.applied.classes) > 0 && (q.Name == "" || w.applied.classes[q.Name] != nil) {
			a.StorageClass = view.StorageClass(q.Name)
		}
	}
	return a
}

func (w *world) overNodes(known, live []*claim.Node) []*claim.Node {
	isOwn := func(n *claim.Node) bool { return w.applied.nodes[n.Name] != nil }
	out := slices.DeleteFunc(slices.Clone(live), isOwn)
	for _, n := range known {
		if isOwn(n) {
			out = append(out, n)
		}
	}
	return out
}

func (w *world) overPVCs(view claim.View, q claim.Question, live []*claim.PVC) []*claim.PVC {
	out := slices.DeleteFunc(slices.Clone(live), func(p *claim.PVC) bool { return w.hasPVC(p.Namespace, p.Name) })
	for key := range w.applied.pvcs {
		if p := view.PVC(key.Namespace, key.Name); p != nil && p.Namespace == q.Namespace && p.Claim == q.Name && p.IsNodePVC() {
			out = append(out, p)
		}
	}
	return out
}

func (w *world) hasPVC(namespace, name string) bool {
	return w.applied.pvcs[types.NamespacedName{Namespace: namespace, Name: name}] != nil
}

package lookup

import (
	"maps"
	"slices"

	"berth.dev/berth/webhook/claim"
)

// claimState is what an index keeps of all node PVCs of one node-local claim
// in one namespace.
type claimState struct {
	namespace, claim string
	summary          claim.Summary
	// holders are the nodes with a live node PVC, sorted. The slice is
	// replaced, never changed, because snapshots share it.
	holders []string
	// revisions counts the live node PVCs of each revision. It belongs to the
	// writer and is shared by the successive states of a claim; readers have
	// its length in the summary and never look.
	revisions map[string]int
}

func claimStateSlot(s *claimState) slot { return slot{group: claimGroup(s.namespace, s.claim)} }

func claimGroup(namespace, claimName string) group { return group{namespace, claimName} }

// count adds a node PVC to the summary, or takes it away (by is 1 or -1);
// nil is none. [claim.Summarize] is the reference.
func (s *claimState) count(p *claim.PVC, by int, names claim.NameTemplate) {
	if p == nil {
		return
	}
	s.summary.Total += by
	if p.HasPopulated {
		s.summary.Populated += by
	}
	if !p.Live() {
		return
	}
	s.summary.Live += by
	if names.Gives(p) {
		s.summary.Named += by
	}
	if s.revisions[p.Revision] += by; s.revisions[p.Revision] == 0 {
		delete(s.revisions, p.Revision)
	}
	s.summary.Revisions = len(s.revisions)
}

// hold says whether a node has a live node PVC now.
func (s *claimState) hold(node string, live bool) {
	at, held := slices.BinarySearch(s.holders, node)
	switch {
	case live && !held:
		s.holders = slices.Insert(slices.Clip(s.holders), at, node)
	case !live && held:
		s.holders = slices.Concat(s.holders[:at], s.holders[at+1:])
	}
}

// summarize gives the states of all claims of these node PVCs.
func summarize(nodePVCs []*claim.PVC, names claim.NameTemplate) []*claimState {
	states := map[group]*claimState{}
	for _, p := range nodePVCs {
		g := claimGroup(p.Namespace, p.Claim)
		s := states[g]
		if s == nil {
			s = &claimState{namespace: p.Namespace, claim: p.Claim, revisions: map[string]int{}}
			states[g] = s
		}
		s.count(p, 1, names)
		if p.Live() {
			s.holders = append(s.holders, p.Node)
		}
	}
	for _, s := range states {
		slices.Sort(s.holders)
		s.holders = slices.Clip(slices.Compact(s.holders))
	}
	return slices.Collect(maps.Values(states))
}

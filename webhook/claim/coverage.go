package claim

// State is how far a node-local claim is served on one node.
type State string

// The states of a claim on a node.
const (
	StateReady     State = "Ready"     // a pod gets the data
	StatePending   State = "Pending"   // the PVC is not bound yet
	StateUnfilled  State = "Unfilled"  // the PVC is bound, and something is still filling it
	StateDeleting  State = "Deleting"  // the only PVC is being deleted
	StateLost      State = "Lost"      // the only PVC has lost its volume
	StateAmbiguous State = "Ambiguous" // several PVCs, and nothing tells them apart
	StateMissing   State = "Missing"   // there is no PVC
)

// States are all states, from served to not at all.
func States() []State {
	return []State{StateReady, StatePending, StateUnfilled, StateDeleting, StateLost, StateAmbiguous, StateMissing}
}

// NeedsAction tells whether somebody must change or create an object before
// pods get the data; in the other states it is there, or waiting is enough.
func (s State) NeedsAction() bool {
	return s == StateMissing || s == StateLost || s == StateAmbiguous
}

// StateOf is the state of one node PVC by itself, whoever asks.
func (rules *Rules) StateOf(p *PVC) State { return rules.stateOf(Need{}, p) }

func (rules *Rules) stateOf(need Need, p *PVC) State {
	switch {
	case p.Deleting:
		return StateDeleting
	case !p.Live():
		return StateLost
	case !p.Bound():
		return StatePending
	case !rules.filled(need, p):
		return StateUnfilled
	default:
		return StateReady
	}
}

// StateOn tells how far a need is served, and by which PVC.
func StateOn(r *Reads, need Need) (State, string) {
	all := r.NodePVCs(need.Namespace, need.Claim, need.Node)
	live := filter(all, (*PVC).Live)
	wanted := filter(live, func(p *PVC) bool { return need.Revision == "" || sameRevision(p.Revision, need.Revision) })
	if len(wanted) == 0 {
		return r.rules.deadOrMissing(all)
	}
	p, refusal := pick(r.rules, need, wanted)
	if refusal != nil || sameScope(need, live) != nil {
		return StateAmbiguous, ""
	}
	return r.rules.stateOf(need, p), p.Name
}

// deadOrMissing is the state where no live PVC serves: what is left of one, if
// anything is.
func (rules *Rules) deadOrMissing(all []*PVC) (State, string) {
	for _, p := range all {
		if !p.Live() {
			return rules.StateOf(p), p.Name
		}
	}
	return StateMissing, ""
}

// Misplaced is why a node PVC can't serve the node that it is for, though its
// state may say so: its volume is usable elsewhere only, or will be provisioned
// elsewhere. nil if it can, or if that can't be told. Pods there are refused.
func Misplaced(r *Reads, p *PVC) *Refusal {
	need := Need{Namespace: p.Namespace, Claim: p.Claim, Node: p.Node}
	for _, check := range []func(*Reads, Need, *PVC) (string, *Refusal){onThisNode, provisionedHere} {
		if _, refusal := check(r, need, p); refusal != nil {
			return refusal
		}
	}
	return nil
}

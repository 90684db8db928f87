package admission

import (
	"fmt"
	"slices"

	"berth.dev/berth/webhook/claim"
)

// Place is what the pods of a DaemonSet get on one node for one claim.
type Place struct {
	Node  string
	Claim string
	State claim.State
	PVC   string // the node PVC, if there is one to name
	// Outcome is what becomes of a pod there: "mounts X", "waits for X", or
	// "refused: <reason>". Only Places tells.
	Outcome string
}

// Places lists, node by node, what the pods of a DaemonSet (or of another kind
// with a pod on every node) get. It is empty for other kinds, and for an object
// that mounts no node-local claim.
func Places(req *Request, r *claim.Reads) []Place {
	k := workloadKindOf(req.Group, req.Resource)
	if k.placing != onEveryNode || req.SubResource != "" {
		return nil
	}
	w, err := parseWorkload(k, req.Object)
	if err != nil {
		return nil
	}
	var places []Place
	for i := range w.templates {
		c := w.newCase(r, req.Namespace, i)
		c.classify()
		asks, err := c.asks()
		for _, p := range c.places(asks) {
			p.Outcome = c.outcome(p, asks, err)
			places = append(places, p)
		}
	}
	return places
}

// outcome is what becomes of a pod on one node, by the rules for pods.
func (c *podCase) outcome(p Place, a asks, invalid error) string {
	if invalid != nil {
		return "refused: " + string(claim.InvalidAnnotation)
	}
	need := a.need(c, p.Claim)
	need.Node = p.Node
	choice := claim.Choose(c.reads, need)
	switch {
	case choice.Refusal != nil:
		return "refused: " + string(choice.Refusal.Reason)
	case choice.Pended || p.State == claim.StatePending:
		return "waits for " + choice.PVC
	default:
		return "mounts " + choice.PVC
	}
}

// claimsMax is how many claims of a DaemonSet are looked at on every node.
const claimsMax = 10

// places looks at each node that the DaemonSet controller would use.
func (c *podCase) places(a asks) []Place {
	var places []Place
	local := c.localClaims()
	if len(local) == 0 {
		return nil
	}
	local = local[:min(len(local), claimsMax)]
	for _, node := range claim.DaemonSetNodes(c.reads, c.placement(), c.tolerations, c.pod.spec.hostNetwork) {
		for _, m := range local {
			need := a.need(c, m.claim)
			need.Node = node
			state, pvc := claim.StateOn(c.reads, need)
			places = append(places, Place{Node: node, Claim: m.claim, State: state, PVC: pvc})
		}
	}
	return places
}

// onEveryNodeAdvice warns, claim by claim, of the nodes that a DaemonSet would
// run on and that have no ready node PVC, and of PVCs that a surge pod can't share.
func (c *podCase) onEveryNodeAdvice() []string {
	asks, err := c.asks()
	if err != nil {
		return []string{err.Error()}
	}
	places := c.places(asks)
	var warnings []string
	if len(places) == 0 && len(c.localClaims()) > 0 {
		return []string{"its pods would run on no node today"}
	}
	for _, m := range c.localClaims() {
		of := slices.DeleteFunc(slices.Clone(places), func(p Place) bool { return p.Claim != m.claim })
		if warning := uncovered(m.claim, of); warning != "" {
			c.doubtClaim(m.claim) // the PVCs may be newer than the cache
			warnings = append(warnings, warning)
		}
		if slices.ContainsFunc(of, c.isForOnePod) {
			warnings = append(warnings, fmt.Sprintf("claim %q has ReadWriteOncePod PVCs: a surge pod (maxSurge) waits for the old one to go", m.claim))
		}
	}
	return warnings
}

func uncovered(name string, places []Place) string {
	var lacking []string
	for _, p := range places {
		if p.State != claim.StateReady {
			lacking = append(lacking, fmt.Sprintf("%s (%s)", p.Node, p.State))
		}
	}
	if len(lacking) == 0 {
		return ""
	}
	return fmt.Sprintf("claim %q is not ready on %d of %d nodes: %s", name, len(lacking), len(places), claim.List(lacking))
}

// isForOnePod tells whether the PVC at a place admits one pod at a time.
func (c *podCase) isForOnePod(p Place) bool {
	if p.PVC == "" {
		return false
	}
	pvc := c.reads.PVC(c.namespace, p.PVC)
	return pvc != nil && pvc.ReadWriteOncePod
}

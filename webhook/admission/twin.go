package admission

import "berth.dev/berth/webhook/claim"

// twin judges the final object, after every other webhook. It refuses only a
// node-local claim that is left, and another node's PVC; it never chooses
// again, and judges no readiness, revision or policy. A pended name passes.
func (c *podCase) twin() Decision {
	d := Decision{Claim: c.mounts[0].claim}
	node := ""
	if c.resolution.Outcome == claim.Pinned {
		node = c.resolution.Node
		d.Node = node
	}
	for _, m := range c.mounts {
		switch {
		case node != "" && m.isOf(node):
		case c.isClaim(m.claimName):
			return c.refuse(d, m, claim.Refusal{
				Reason: claim.NodeLocalClaimLeft,
				Why:    "the claim was not replaced by a node's PVC: a later webhook may have brought this volume, or Berth's mutating webhook was skipped",
				Remedy: "Let Berth's mutating webhook run last (its configuration's name sorts last)",
			})
		case node != "" && m.pvc != nil:
			return c.refuse(d, m, c.otherNodes(m))
		}
	}
	return d
}

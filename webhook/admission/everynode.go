package admission

import (
	"fmt"

	"berth.dev/berth/webhook/claim"
)

// uncovered warns of the nodes that a DaemonSet would run on and that have no
// ready node PVC, a warning for each claim.
func (c *podCase) uncovered() []string {
	asks, err := c.asks()
	if err != nil {
		return []string{err.Error()}
	}
	spec := &c.pod.Spec
	nodes := claim.DaemonSetNodes(c.reads, c.placement(), spec.Tolerations, spec.HostNetwork)
	var warnings []string
	for _, m := range c.localClaims() {
		var lacking []string
		for _, node := range nodes {
			need := asks.need(c, m.claim)
			need.Node = node
			if state, _ := claim.StateOn(c.reads, need); state != claim.StateReady {
				lacking = append(lacking, fmt.Sprintf("%s (%s)", node, state))
			}
		}
		if len(lacking) > 0 {
			c.doubtClaim(m.claim) // the PVCs may be newer than the cache
			warnings = append(warnings, fmt.Sprintf("claim %q is not ready on %d of %d nodes: %s", m.claim, len(lacking), len(nodes), claim.List(lacking)))
		}
	}
	return warnings
}

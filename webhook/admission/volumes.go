package admission

import (
	"fmt"
	"slices"
	"strings"

	"berth.dev/berth/webhook/claim"
)

// mount is one volume of the pod that names a node-local claim or a node PVC.
type mount struct {
	index     int
	volume    string // the volume's name
	claimName string // as it stands
	local     bool   // it stands for a node-local claim: Berth chooses the PVC
	claim     string // the node-local claim
	pvc       *claim.PVC
}

// isOf tells whether the volume already names this node's PVC.
func (m *mount) isOf(node string) bool {
	return m.pvc != nil && m.pvc.IsNodePVC() && m.pvc.Node == node
}

// volumesMax is more PVC volumes than any node can attach, and bounds what one
// pod can make Berth look up.
const volumesMax = 256

// tooMany refuses a pod for the number of its PVC volumes; nil if they are few.
func (c *podCase) tooMany() *claim.Refusal {
	n := len(c.pod.spec.volumes)
	if n <= volumesMax {
		return nil
	}
	return &claim.Refusal{
		Reason: claim.TooManyVolumes, Remedy: "Mount fewer",
		Why: fmt.Sprintf("it has %d PVC volumes, and more than %d are not looked at", n, volumesMax),
	}
}

// classify sorts the pod's PVC volumes: those that concern Berth, and others.
// Everything that is no persistentVolumeClaim (an ephemeral volume makes its
// own PVC later) is left alone.
func (c *podCase) classify() {
	c.declares = list(c.pod.annotation(claim.AnnNodeLocalClaims))
	for _, v := range c.pod.spec.volumes {
		if v.claimName == "" {
			continue
		}
		m := mount{index: v.index, volume: v.name, claimName: v.claimName}
		switch {
		case c.concerns(&m):
			c.mounts = append(c.mounts, m)
		case m.pvc != nil && m.pvc.Claim == "":
			c.others = append(c.others, m)
		}
	}
}

// concerns tells whether a volume names a node-local claim or a node PVC, and
// fills in which.
func (c *podCase) concerns(m *mount) bool {
	m.pvc = c.reads.PVC(c.namespace, m.claimName)
	switch {
	case c.isClaim(m.claimName):
		m.local, m.claim = true, m.claimName
		return true
	case m.pvc != nil && m.pvc.IsNodePVC():
		m.claim = m.pvc.Claim
		m.local = c.written[m.claim] == m.claimName
		return true
	case m.pvc == nil:
		return c.pendedBefore(m)
	}
	if m.pvc.Claim != "" { // it bears the claim label and no node: its name is a claim's, whose node PVCs may be new
		c.doubtClaim(m.claimName)
	}
	return false
}

// localClaims are the mounts of node-local claims, each claim once.
func (c *podCase) localClaims() []mount {
	var out []mount
	for _, m := range c.mounts {
		if m.local && !slices.ContainsFunc(out, func(o mount) bool { return o.claim == m.claim }) {
			out = append(out, m)
		}
	}
	return out
}

// isClaim tells whether a name is a node-local claim here.
func (c *podCase) isClaim(name string) bool {
	if !claim.IsClaimName(name) {
		return false
	}
	return slices.Contains(c.declares, name) || c.reads.Summary(c.namespace, name).Total > 0
}

// pendedBefore recognises a name that no PVC bears yet and that Berth wrote in
// an earlier pass, when it pended the pod: it is chosen again, for the pin may
// have moved. Any other unknown name passes, after a live read.
func (c *podCase) pendedBefore(m *mount) bool {
	c.reads.Doubt(claim.Question{Kind: claim.AskPVC, Namespace: c.namespace, Name: m.claimName})
	c.doubtClaim(m.claimName)
	if name := c.written.claimOf(m.claimName); name != "" && c.isClaim(name) {
		m.local, m.claim = true, name
		return true
	}
	return false
}

func (c *podCase) doubtClaim(name string) {
	if claim.IsClaimName(name) {
		c.reads.Doubt(claim.Question{Kind: claim.AskClaim, Namespace: c.namespace, Name: name})
	}
}

// list reads a comma-separated annotation.
func list(value string) []string {
	var out []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

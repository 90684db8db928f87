package main

import (
	"slices"
	"strings"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// claimCoverage is how far one node-local claim is served. Its JSON is part of
// the interface.
type claimCoverage struct {
	Namespace string `json:"namespace"`
	// Workload is the DaemonSet whose pods want the claim, as kind/name.
	Workload string `json:"workload,omitempty"`
	Claim    string `json:"claim"`
	// States counts the nodes by state; each state is there.
	States map[claim.State]int `json:"states"`
	// Places are all nodes, sorted by name.
	Places []*placeCovered `json:"places"`
	// Strays are node PVCs of the claim whose Node does not exist.
	Strays []strayPVC `json:"strays,omitempty"`
}

// placeCovered is a claim on one node.
type placeCovered struct {
	Node  string      `json:"node"`
	State claim.State `json:"state"`
	PVC   string      `json:"pvc,omitempty"`
	// Reason and Message say why pods are refused here though a PVC is there: it
	// can't be used on this node.
	Reason  claim.Reason `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
}

// strayPVC is a node PVC of a node that does not exist.
type strayPVC struct {
	PVC  string `json:"pvc"`
	Node string `json:"node"`
}

func (p *placeCovered) needsAction() bool { return p.State.NeedsAction() || p.Reason != "" }

// isFine tells whether a pod on the node gets the data.
func (p *placeCovered) isFine() bool { return p.State == claim.StateReady && p.Reason == "" }

func (c *claimCoverage) needsAction() bool {
	return slices.ContainsFunc(c.Places, (*placeCovered).needsAction)
}

// claimKey names a node-local claim.
type claimKey struct{ namespace, claim string }

// coverClaims looks at the claims that have node PVCs, and those that are asked for.
func (o *coverageOptions) coverClaims(inv *inventory, nodes []string) []*claimCoverage {
	r := inv.reads()
	out := []*claimCoverage{}
	for _, key := range o.claimKeys(inv) {
		c := newClaimCoverage(inv, key)
		for _, node := range nodes {
			state, pvc := claim.StateOn(r, claim.Need{Namespace: key.namespace, Claim: key.claim, Node: node})
			c.add(inv, r, node, state, pvc)
		}
		out = append(out, c)
	}
	return out
}

// claimKeys are the claims to look at, sorted. One that is asked for and has no node PVC
// is looked at in the one namespace, or of all of them in none that can be named.
func (o *coverageOptions) claimKeys(inv *inventory) []claimKey {
	var keys []claimKey
	for _, p := range inv.pvcs {
		if p.IsNodePVC() && o.wants(p.Claim) {
			keys = append(keys, claimKey{p.Namespace, p.Claim})
		}
	}
	for _, name := range o.claims {
		known := slices.ContainsFunc(keys, func(k claimKey) bool { return k.claim == name })
		if !known {
			keys = append(keys, claimKey{o.lookAt(), name})
		}
	}
	slices.SortFunc(keys, func(a, b claimKey) int {
		if by := strings.Compare(a.namespace, b.namespace); by != 0 {
			return by
		}
		return strings.Compare(a.claim, b.claim)
	})
	return slices.Compact(keys)
}

func (o *coverageOptions) wants(name string) bool {
	return len(o.claims) == 0 || slices.Contains(o.claims, name)
}

// coverPlaces looks at what a DaemonSet's pods would get on those of its nodes that are selected.
func (o *coverageOptions) coverPlaces(inv *inventory, nodes []string, m *manifest, req *admission.Request) []*claimCoverage {
	r := inv.reads()
	byClaim := map[string]*claimCoverage{}
	var out []*claimCoverage
	for _, p := range admission.Places(req, r) {
		if !o.wants(p.Claim) {
			continue
		}
		if _, selected := slices.BinarySearch(nodes, p.Node); !selected {
			continue
		}
		c := byClaim[p.Claim]
		if c == nil {
			c = newClaimCoverage(inv, claimKey{req.Namespace, p.Claim})
			c.Workload, byClaim[p.Claim] = m.workload(), c
			out = append(out, c)
		}
		c.add(inv, r, p.Node, p.State, p.PVC)
	}
	return out
}

// workload is a DaemonSet for people.
func (m *manifest) workload() string { return m.head.Kind + "/" + m.name() }

func mentions(found []*claimCoverage, workload string) bool {
	return slices.ContainsFunc(found, func(c *claimCoverage) bool { return c.Workload == workload })
}

func newClaimCoverage(inv *inventory, key claimKey) *claimCoverage {
	c := &claimCoverage{Namespace: key.namespace, Claim: key.claim, States: map[claim.State]int{}, Places: []*placeCovered{}}
	for _, s := range claim.States() {
		c.States[s] = 0
	}
	view := inv.store.View()
	for _, p := range inv.pvcs {
		if p.IsNodePVC() && p.Namespace == key.namespace && p.Claim == key.claim && view.Node(p.Node) == nil {
			c.Strays = append(c.Strays, strayPVC{PVC: p.Name, Node: p.Node})
		}
	}
	slices.SortFunc(c.Strays, func(a, b strayPVC) int { return strings.Compare(a.PVC, b.PVC) })
	return c
}

// add adds a node, once: a DaemonSet may mount a claim twice.
func (c *claimCoverage) add(inv *inventory, r *claim.Reads, node string, state claim.State, pvc string) {
	if n := len(c.Places); n > 0 && c.Places[n-1].Node == node {
		return
	}
	p := &placeCovered{Node: node, State: state, PVC: pvc}
	if found := inv.store.View().PVC(c.Namespace, pvc); found != nil && found.Live() {
		if refusal := claim.Misplaced(r, found); refusal != nil {
			p.Reason, p.Message = refusal.Reason, refusal.Why+". "+refusal.Remedy
		}
	}
	c.Places = append(c.Places, p)
	c.States[state]++
}

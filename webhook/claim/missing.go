package claim

import (
	"fmt"
	"slices"
	"strings"
)

// Annotations on pods. Their keys are Berth's own, whatever the label keys are.
const (
	// AnnRevision asks for a revision: "R", or "claim=R[,claim=R]".
	AnnRevision = "berth.dev/revision"
	// AnnNodeLocalClaims declares node-local claims before their first node PVC exists.
	AnnNodeLocalClaims = "berth.dev/node-local-claims"
	// AnnFills says which claims the pod fills.
	AnnFills = "berth.dev/fills"
	// AnnNodePVCs is written by Berth: which PVC it put in each claim's place.
	AnnNodePVCs = "berth.dev/node-pvcs"
)

// holdsLabel is the prefix of the node label that warnings suggest for
// keeping pods off nodes without the claim.
const holdsLabel = "holds.berth.dev/"

// missing decides for a node without a usable node PVC: refuse, or pend on the
// name that the template gives. A refused pod of a DaemonSet stops the creation
// of its siblings and its whole rolling update (syncNodes and updateDaemonSet
// in pkg/controller/daemon of Kubernetes); a pended one only counts as unavailable.
func missing(r *Reads, need Need, all []*PVC) Choice {
	if r.rules.Missing == MissingDeny {
		return Choice{Refusal: absent(need, all, &r.rules.Keys, "")}
	}
	name := r.rules.Names.Name(need.Claim, need.Node, bareDigest(need.Revision))
	if why := cannotPend(r, need, name); why != "" {
		return Choice{Refusal: absent(need, all, &r.rules.Keys, why)}
	}
	r.DoubtAll()
	return Choice{PVC: name, Pended: true, Warnings: []string{
		fmt.Sprintf("node %q has no PVC for claim %q yet: the pod waits for %q", need.Node, need.Claim, name),
		fmt.Sprintf(`nodeSelector %s%s: "true" leaves such nodes out, once the others are labelled so`, holdsLabel, need.Claim),
	}}
}

// cannotPend says why a pod can't wait for a PVC of this name; "" if it can.
func cannotPend(r *Reads, need Need, name string) string {
	rules := r.rules
	summary := r.Summary(need.Namespace, need.Claim)
	switch {
	case rules.Names == "":
		return "names of node PVCs are not predictable here"
	case need.NodeName:
		return "spec.nodeName skips the scheduler, which would hold the pod"
	case summary.Populated > 0 || rules.PopulatedRequired:
		return "a bound PVC of this claim is not yet a filled one"
	case need.Revision != "" && !rules.Names.CarriesRevision():
		return fmt.Sprintf("PVC names do not carry revision %q", need.Revision)
	case need.Revision != "" && !IsClaimName(bareDigest(need.Revision)):
		return fmt.Sprintf("revision %q is no label value, so no PVC can bear it whole", abbreviate(need.Revision))
	case need.Revision == "" && rules.Names.CarriesRevision():
		return "PVC names carry a revision, and the pod asks for none"
	case rules.Missing == MissingAuto && !predictable(summary, need):
		return "names of this claim's node PVCs are not predictable"
	}
	if problem := nameProblem(name); problem != "" {
		return fmt.Sprintf("%q can't name a PVC: %s", cut(name), problem)
	}
	if r.PVC(need.Namespace, name) != nil {
		return fmt.Sprintf("a PVC %q is there already", name)
	}
	if other, node, ok := r.otherReading(need, name); ok {
		return fmt.Sprintf("%q could be claim %q's PVC on node %q, too", name, other, node)
	}
	if slices.Contains(need.Declares, name) || IsClaimName(name) && r.Summary(need.Namespace, name).Total > 0 {
		return fmt.Sprintf("%q is itself a node-local claim", name)
	}
	return ""
}

// otherReading tells whether the template gives a name to another claim that is
// known here, on a node that is: "a-b-c" is claim a on node b-c, and a-b on c.
// A hint is enough, so it is neither recorded nor read live.
func (r *Reads) otherReading(need Need, name string) (claim, node string, found bool) {
	for claim, node := range r.rules.Names.readings(name) {
		if claim != need.Claim && r.view.Node(node) != nil && (r.view.Summary(need.Namespace, claim).Total > 0 || slices.Contains(need.Declares, claim)) {
			return claim, node, true
		}
	}
	return "", "", false
}

// predictable tells whether the node PVC to come will bear the template's name.
func predictable(s Summary, need Need) bool {
	if s.Live == 0 {
		return slices.Contains(need.Declares, need.Claim)
	}
	return s.Named == s.Live
}

// absent refuses for want of a node PVC, naming what is there instead.
func absent(need Need, all []*PVC, keys *Keys, notPended string) *Refusal {
	reason := NoNodePVC
	why := fmt.Sprintf("node %q has no PVC for it", need.Node)
	remedy := fmt.Sprintf("Create one labelled %s=%s, %s=%s, or keep pods off that node with a nodeSelector", keys.Claim, need.Claim, keys.Node, need.Node)
	if !IsClaimName(need.Node) { // no label value
		remedy = fmt.Sprintf("Create one labelled %s=%s and annotated %s: <the node's name>, or keep pods off that node with a nodeSelector", keys.Claim, need.Claim, keys.Node)
	}
	if dead := filter(all, func(p *PVC) bool { return !p.Live() }); len(dead) > 0 {
		why = fmt.Sprintf("node %q has no live PVC for it: %s", need.Node, describeAll(dead, deadState))
	}
	if live := filter(all, (*PVC).Live); len(live) > 0 {
		reason = RevisionNotFound
		why = fmt.Sprintf("node %q has no PVC of revision %q for it; it has %s", need.Node, need.Revision, describeAll(live, revisionOf))
		remedy = fmt.Sprintf("Ask for a revision that is there (pod annotation %s), or create its PVC", AnnRevision)
	}
	if notPended != "" {
		why += fmt.Sprintf(" (it can't wait for one: %s)", notPended)
	}
	return &Refusal{Reason: reason, Why: why, Remedy: remedy}
}

func deadState(p *PVC) string {
	if p.Deleting {
		return "being deleted"
	}
	return phase(p)
}

// cut shortens a name too long for a message.
func cut(name string) string {
	const most = 80
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

package claim

import "fmt"

// CheckUnpinned judges a node PVC that an unpinned pod names itself: the PVC
// must lead the pod to its node. A bound one does so by its PV's affinity, an
// unbound one by selected-node; an unbound WaitForFirstConsumer PVC without it
// could bind any node's disk for good.
func CheckUnpinned(r *Reads, p *PVC) (warning string, refusal *Refusal) {
	switch {
	case !p.Live():
		return fmt.Sprintf("PVC %q is %s: the pod waits for ever", p.Name, deadState(p)), nil
	case !p.Bound() && p.SelectedNode != "" && p.SelectedNode != p.Node:
		return fmt.Sprintf("PVC %q is node %q's, and is to be provisioned on node %q", p.Name, p.Node, p.SelectedNode), nil
	case !p.Bound():
		if !waitsForConsumer(r, p) {
			return "", nil
		}
		return "", refuse(UnboundNodePVC, fmt.Sprintf("Pin the pod: nodeSelector kubernetes.io/hostname of node %q", p.Node),
			"PVC %q of node %q is %s and would bind on whichever node the pod lands", p.Name, p.Node, phase(p))
	}
	pv := r.PV(p.VolumeName)
	if pv == nil {
		r.Doubt(Question{Kind: AskPV, Name: p.VolumeName})
		return fmt.Sprintf("PersistentVolume %q of PVC %q is not known: the pod may run on any node", p.VolumeName, p.Name), nil
	}
	if pv.Affinity == nil {
		return fmt.Sprintf("PersistentVolume %q of PVC %q can be used on any node: the pod may run on another", pv.Name, p.Name), nil
	}
	if on := reachOf(labelTerms(pv.Affinity, &r.rules.Keys), r); !on.pins() {
		return fmt.Sprintf("PersistentVolume %q of PVC %q is not tied to one node: the pod may run on another", pv.Name, p.Name), nil
	}
	return "", nil
}

// CheckPinned judges a node PVC that a pod pinned to its node names itself. It
// is never refused for readiness: the pod may be filling it.
func CheckPinned(r *Reads, p *PVC, nodeName bool) (warning string) {
	if nodeName && !p.Bound() && waitsForConsumer(r, p) {
		return fmt.Sprintf("PVC %q never binds: spec.nodeName skips the scheduler; use nodeSelector kubernetes.io/hostname", p.Name)
	}
	return ""
}

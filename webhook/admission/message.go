package admission

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.dev/berth/webhook/claim"
)

// refuse completes a decision with a refusal: one line that says what, why and
// what to do, short enough for an Event, and the same as a cause with its field.
func (c *podCase) refuse(d Decision, m mount, f claim.Refusal) Decision {
	if m.claim == "" {
		return c.refusePod(f)
	}
	why := fmt.Sprintf("%s mounts %s, but %s", c.subject(), m.describe(), f.Why)
	text := why + ". " + f.Remedy
	if f.Reason == claim.NotPinned || f.Reason == claim.NoNodePVC {
		text += ". " + c.holders(m.claim)
	}
	d.Reason, d.Message, d.Claim, d.Patch, d.PVCs, d.Warnings = f.Reason, message(text+"."), m.claim, nil, "", nil
	d.Causes = []metav1.StatusCause{c.cause(m, f)}
	return d
}

// refusePod refuses for what is no single volume's fault.
func (c *podCase) refusePod(f claim.Refusal) Decision {
	text := message(fmt.Sprintf("%s: %s. %s.", c.subject(), f.Why, f.Remedy))
	cause := metav1.StatusCause{Type: metav1.CauseType(f.Reason), Field: strings.TrimPrefix(c.template+".spec.volumes", "."), Message: text}
	return Decision{Reason: f.Reason, Message: text, Causes: []metav1.StatusCause{cause}}
}

// cause is a refusal with the field that it is about.
func (c *podCase) cause(m mount, f claim.Refusal) metav1.StatusCause {
	field := fmt.Sprintf("spec.volumes[%d].persistentVolumeClaim.claimName", m.index)
	if c.template != "" {
		field = c.template + "." + field
	}
	return metav1.StatusCause{Type: metav1.CauseType(f.Reason), Field: field, Message: message(f.Why + ". " + f.Remedy + ".")}
}

func (c *podCase) contradictory() claim.Refusal {
	return claim.Refusal{Reason: claim.ContradictoryPin, Why: c.resolution.Why, Remedy: "Correct the constraints so that they leave exactly one node"}
}

func invalidAnnotation(err error) claim.Refusal {
	return claim.Refusal{Reason: claim.InvalidAnnotation, Why: err.Error(), Remedy: "Correct the annotation"}
}

// notPinned is the guidance for a pod whose node can't be known yet.
func (c *podCase) notPinned() claim.Refusal {
	who, have, get := "it", "is", "gets"
	if c.workload != nil {
		who, have, get = "its pods", "are", "get"
	}
	why := fmt.Sprintf("%s %s a node only after admission, so no node's PVC can be chosen", who, get)
	if c.resolution.Why != "" {
		why = fmt.Sprintf("%s %s not pinned to one node, so no node's PVC can be chosen: %s", who, have, c.resolution.Why)
	}
	if c.resolution.Today != "" {
		why += fmt.Sprintf(" (only node %q matches today, but labels change and nodes join)", c.resolution.Today)
	}
	remedy := "Use a DaemonSet, or pin the pod: nodeSelector kubernetes.io/hostname"
	if c.workload != nil || c.owner() != nil {
		remedy = "Use a DaemonSet, or pin the template: nodeSelector kubernetes.io/hostname"
	}
	return claim.Refusal{Reason: claim.NotPinned, Why: why, Remedy: remedy}
}

func (c *podCase) otherNodes(m mount) claim.Refusal {
	return claim.Refusal{
		Reason: claim.OtherNodesPVC,
		Why:    fmt.Sprintf("that PVC is node %q's, and the pod is pinned to node %q by %s", m.pvc.Node, c.resolution.Node, claim.PinnedBy(c.reads, c.placement(), c.resolution.Node)),
		Remedy: fmt.Sprintf("Mount node-local claim %q instead, or pin the pod to node %q", m.claim, m.pvc.Node),
	}
}

// subject names the pod by what people can find: its owner, its name, or the
// prefix of a name still to be given.
func (c *podCase) subject() string {
	if c.workload != nil {
		return c.workload.subject(c.template)
	}
	m := &c.pod.metadata
	pod := "Pod"
	switch {
	case m.name != "":
		pod = fmt.Sprintf("Pod %q", m.name)
	case m.generateName != "" && c.owner() == nil:
		pod = fmt.Sprintf("Pod %q", m.generateName+"*")
	}
	if o := c.owner(); o != nil {
		pod += fmt.Sprintf(" of %s %q", oneLine(o.Kind), o.Name)
	}
	return pod
}

// owner is the pod's controller. It serves messages only: ownerReferences can
// be forged, so they decide nothing.
func (c *podCase) owner() *ownerReference {
	return controllerOf(c.pod.metadata.owners)
}

func controllerOf(owners []ownerReference) *ownerReference {
	for i, o := range owners {
		if o.Controller != nil && *o.Controller {
			return &owners[i]
		}
	}
	return nil
}

func (m *mount) describe() string {
	if m.local && m.claim == m.claimName {
		return fmt.Sprintf("node-local claim %q (volume %q)", m.claim, m.volume)
	}
	return fmt.Sprintf("PVC %q of node-local claim %q (volume %q)", m.claimName, m.claim, m.volume)
}

func (c *podCase) holders(name string) string {
	nodes := c.reads.Holders(c.namespace, name)
	if len(nodes) == 0 {
		return fmt.Sprintf("No node holds claim %q yet", strings.ToValidUTF8(name, ""))
	}
	return "Nodes that hold this claim: " + claim.List(nodes)
}

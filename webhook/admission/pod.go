package admission

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

// mirrorAnnotation marks a mirror pod, the API's picture of a static pod: what
// is changed or refused there never changes what runs.
const mirrorAnnotation = corev1.MirrorPodAnnotationKey

// annotation is the value of one of the annotations that Berth knows, or "".
func (p *pod) annotation(key string) string {
	for _, a := range p.metadata.annotations {
		if a.key == key {
			return a.value
		}
	}
	return ""
}

func (p *pod) isMirror() bool {
	return slices.ContainsFunc(p.metadata.annotations, func(a annotation) bool { return a.key == mirrorAnnotation })
}

// decidePod judges the CREATE of a pod.
func decidePod(road Road, req *Request, r *claim.Reads) Decision {
	p, err := req.decodedPod()
	if err != nil {
		return invalid(req, err)
	}
	req.GenerateName = p.metadata.generateName
	if p.isMirror() {
		return Decision{}
	}
	c := newCase(r, req.Namespace, p)
	if refusal := c.tooMany(); refusal != nil {
		return c.refusePod(*refusal)
	}
	c.classify()
	if len(c.mounts) == 0 {
		return Decision{}
	}
	c.resolution = claim.Resolve(r, c.placement())
	if road == Validate {
		return c.twin()
	}
	return c.mutate()
}

// podCase is one pod, or one pod template, under judgement.
type podCase struct {
	workload    *workload           // whose template it is; nil for a pod
	template    string              // where the template stands
	tolerations []corev1.Toleration // the template's
	reads       *claim.Reads
	namespace   string
	pod         *pod
	written     written
	declares    []string
	mounts      []mount // the volumes that concern Berth
	others      []mount // its other PVCs, which may pin it
	resolution  claim.Resolution
}

func newCase(r *claim.Reads, namespace string, p *pod) *podCase {
	return &podCase{reads: r, namespace: namespace, pod: p, written: parseWritten(p.annotation(claim.AnnNodePVCs))}
}

func (c *podCase) placement() claim.Placement {
	s := &c.pod.spec
	p := claim.Placement{Namespace: c.namespace, NodeName: s.nodeName, NodeSelector: s.nodeSelector, Required: s.required}
	for _, m := range c.others {
		p.PVCs = append(p.PVCs, m.claimName)
	}
	return p
}

// mutate chooses a node PVC for every node-local claim, or refuses the pod.
func (c *podCase) mutate() Decision {
	d := Decision{Claim: c.mounts[0].claim}
	switch c.resolution.Outcome {
	case claim.Contradictory:
		return c.refuse(d, c.mounts[0], c.contradictory())
	case claim.Unpinned:
		return c.unpinned(d)
	default:
		return c.pinned(d)
	}
}

// unpinned judges a pod that more than one node may run: it may name node PVCs
// itself, if they lead it to their node.
func (c *podCase) unpinned(d Decision) Decision {
	for _, m := range c.mounts {
		if m.local {
			return c.refuse(d, m, c.notPinned())
		}
	}
	for _, m := range c.mounts {
		warning, refusal := claim.CheckUnpinned(c.reads, m.pvc)
		if refusal != nil {
			return c.refuse(d, m, *refusal)
		}
		d.warn(warning)
		if first := c.mounts[0].pvc; m.pvc.Node != first.Node {
			d.warn(fmt.Sprintf("PVCs %q and %q are of different nodes: no node can run the pod", first.Name, m.pvc.Name))
		}
	}
	return d
}

// pinned chooses for each claim once, and patches each volume that needs it.
func (c *podCase) pinned(d Decision) Decision {
	d.Node = c.resolution.Node
	d.warn(c.resolution.Warning)
	asks, err := c.asks()
	choices := map[string]string{}
	for _, m := range c.mounts {
		if m.isOf(d.Node) {
			d.warn(c.left(m))
			continue
		}
		if !m.local {
			return c.refuse(d, m, c.otherNodes(m))
		}
		if err != nil {
			return c.refuse(d, m, invalidAnnotation(err))
		}
		pvc, seen := choices[m.claim]
		if !seen {
			choice := claim.Choose(c.reads, asks.need(c, m.claim))
			if choice.Refusal != nil {
				return c.refuse(d, m, *choice.Refusal)
			}
			d.Warnings = append(d.Warnings, choice.Warnings...)
			pvc = choice.PVC
			choices[m.claim] = pvc
		} else {
			d.warn(fmt.Sprintf("claim %q is in several volumes of the pod: mount one volume several times instead", m.claim))
		}
		if pvc != m.claimName {
			d.Patch = append(d.Patch, replaceClaimName(m.index, pvc))
		}
	}
	return c.annotate(d, choices)
}

// annotate completes a patch with the annotation that says what was written.
func (c *podCase) annotate(d Decision, choices map[string]string) Decision {
	now := written(choices)
	d.PVCs = now.String()
	if len(d.Patch) == 0 {
		return d
	}
	for _, m := range c.mounts {
		if name := c.written.claimOf(m.claimName); name != "" && now[name] == "" && m.isOf(d.Node) && m.pvc.Claim == name {
			now[name] = m.claimName // an earlier pass wrote it, and it stands
		}
	}
	d.PVCs = now.String()
	d.Patch = append(d.Patch, annotate(c.pod.metadata.there, c.pod.metadata.annotated, claim.AnnNodePVCs, d.PVCs))
	return d
}

// left warns about a volume that names this node's PVC already.
func (c *podCase) left(m mount) string {
	if m.claim == m.claimName && m.pvc.Claim != m.claimName {
		return fmt.Sprintf("%q is a node-local claim and node %q's PVC of claim %q: taken as the PVC", m.claimName, m.pvc.Node, m.pvc.Claim)
	}
	return claim.CheckPinned(c.reads, m.pvc, c.pod.spec.nodeName != "")
}

func (d *Decision) warn(warning string) {
	if warning != "" {
		d.Warnings = append(d.Warnings, warning)
	}
}

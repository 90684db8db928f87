package admission

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

// noProvisioner is the provisioner of classes whose volumes are made by hand.
const noProvisioner = "kubernetes.io/no-provisioner"

// pvcCase is one node PVC under judgement.
type pvcCase struct {
	reads *claim.Reads
	raw   *corev1.PersistentVolumeClaim
	pvc   *claim.PVC
}

// decidePVC judges a node PVC. On CREATE it selects the node, so that the
// volume is provisioned and populated there before any pod exists; otherwise
// it only warns.
func decidePVC(road Road, req *Request, r *claim.Reads) Decision {
	c, err := newPVCCase(r, req.Namespace, req.Object)
	if err != nil {
		return invalid(req, err)
	}
	req.GenerateName = c.raw.GenerateName
	d := Decision{}
	if req.Operation == "UPDATE" {
		old, err := newPVCCase(r, req.Namespace, req.OldObject)
		if err == nil {
			d.warn(relabelled(old.pvc, c.pvc))
		}
		return d
	}
	if !c.pvc.IsNodePVC() {
		return d
	}
	d.Claim, d.Node = c.pvc.Claim, c.pvc.Node
	c.advise(&d)
	if road == Mutate && c.selectsNode() {
		d.Patch = append(d.Patch, annotate(true, c.raw.Annotations != nil, claim.AnnSelectedNode, c.pvc.Node))
	}
	return d
}

func newPVCCase(r *claim.Reads, namespace string, object []byte) (*pvcCase, error) {
	raw := &corev1.PersistentVolumeClaim{}
	if err := decode(object, raw); err != nil {
		return nil, err
	}
	raw.Namespace = namespace
	return &pvcCase{reads: r, raw: raw, pvc: claim.NewPVC(raw, &r.Rules().Keys)}, nil
}

// selectsNode tells whether Berth may select the node. With the annotation set
// the scheduler never matches a PV made by hand, so none may be waiting.
func (c *pvcCase) selectsNode() bool {
	if _, ok := c.raw.Annotations[claim.AnnSelectedNode]; ok || c.raw.Spec.VolumeName != "" || c.raw.Spec.Selector != nil {
		return false
	}
	class := c.class()
	if class == nil || !class.WaitForFirstConsumer || class.Provisioner == noProvisioner {
		return false
	}
	node := c.node()
	return node != nil && !claim.AnyPVFor(c.reads, class.Name, node)
}

// class is the PVC's StorageClass. The API server has put the default class
// in, if there is one, before webhooks are called.
func (c *pvcCase) class() *claim.StorageClass {
	if c.pvc.StorageClass == "" {
		return nil
	}
	class := c.reads.StorageClass(c.pvc.StorageClass)
	if class == nil {
		c.reads.Doubt(claim.Question{Kind: claim.AskStorageClass, Name: c.pvc.StorageClass})
	}
	return class
}

func (c *pvcCase) node() *claim.Node {
	node := c.reads.Node(c.pvc.Node)
	if node == nil {
		c.reads.Doubt(claim.Question{Kind: claim.AskNode, Name: c.pvc.Node})
	}
	return node
}

// advise warns of what will be refused later, or never served.
func (c *pvcCase) advise(d *Decision) {
	p := c.pvc
	if c.node() == nil {
		d.warn(fmt.Sprintf("there is no Node %q: no pod will mount this PVC until there is", p.Node))
	}
	if !claim.IsClaimName(p.Claim) {
		d.warn(fmt.Sprintf("%q is no label value, so no pod can name it as a node-local claim", p.Claim))
	}
	for _, twin := range c.reads.NodePVCs(p.Namespace, p.Claim, p.Node) {
		if twin.Live() && twin.Name != p.Name && twin.Revision == p.Revision {
			d.warn(fmt.Sprintf("PVC %q already serves claim %q on node %q: once both are ready, pods there are refused", twin.Name, p.Claim, p.Node))
			break
		}
	}
	if p.ReadWriteOncePod {
		d.warn("access mode ReadWriteOncePod: one pod at a time, so a second or a surge pod waits")
	}
}

// relabelled warns of a bound PVC whose claim or node changes: its data does not.
func relabelled(old, now *claim.PVC) string {
	if !old.Bound() || !old.IsNodePVC() || old.Claim == now.Claim && old.Node == now.Node {
		return ""
	}
	return fmt.Sprintf("this PVC was node %q's of claim %q, and its data still is: running pods keep it", old.Node, old.Claim)
}

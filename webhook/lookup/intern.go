package lookup

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

// poolLimit bounds a pool: beyond it the pool forgets what it knows, which
// costs memory and is never wrong.
const poolLimit = 1 << 16

// pool keeps one copy of what many objects repeat: namespaces, claims, node
// names, revisions, label keys and values, and the node affinity of PVs.
type pool struct {
	mu        sync.Mutex
	strings   map[string]string
	selectors map[string]*corev1.NodeSelector
}

func newPool() *pool {
	return &pool{strings: map[string]string{}, selectors: map[string]*corev1.NodeSelector{}}
}

// text gives the pool's copy of a string. The caller holds the lock.
func (p *pool) text(s string) string {
	if s == "" {
		return ""
	}
	if known, ok := p.strings[s]; ok {
		return known
	}
	if len(p.strings) >= poolLimit {
		clear(p.strings)
	}
	p.strings[s] = s
	return s
}

// selector gives the pool's copy of a node affinity, found by its encoding.
// The caller holds the lock.
func (p *pool) selector(s *corev1.NodeSelector) *corev1.NodeSelector {
	if s == nil {
		return nil
	}
	key, err := s.Marshal()
	if err != nil {
		return s
	}
	if known, ok := p.selectors[string(key)]; ok {
		return known
	}
	if len(p.selectors) >= poolLimit {
		clear(p.selectors)
	}
	p.selectors[string(key)] = s
	return s
}

// node gives a copy of a Node that shares what the pool has. Its labels are a
// map of its own, so that the caller's may change.
func (p *pool) node(n *claim.Node) *claim.Node {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := &claim.Node{Name: p.text(n.Name), Taints: n.Taints}
	if len(n.Labels) > 0 {
		out.Labels = make(map[string]string, len(n.Labels))
	}
	for k, v := range n.Labels {
		out.Labels[p.text(k)] = p.text(v)
	}
	return out
}

// pvc gives a copy of a PVC that shares what the pool has. The PVC's own name
// and its volume's are its alone, and not pooled.
func (p *pool) pvc(c *claim.PVC) *claim.PVC {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := *c
	for _, s := range []*string{
		&out.Namespace, &out.Claim, &out.Node, &out.Revision, &out.Scope, &out.Populated,
		&out.StorageClass, &out.SelectedNode, (*string)(&out.Phase),
	} {
		*s = p.text(*s)
	}
	return &out
}

// pv gives a copy of a PV that shares what the pool has.
func (p *pool) pv(v *claim.PV) *claim.PV {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := *v
	out.StorageClass = p.text(v.StorageClass)
	out.Affinity = p.selector(v.Affinity)
	return &out
}

// class gives a copy of a StorageClass.
func (p *pool) class(c *claim.StorageClass) *claim.StorageClass {
	out := *c
	return &out
}

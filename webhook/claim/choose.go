package claim

import (
	"fmt"
	"slices"
	"strings"
)

// Need is what a pod needs of one node-local claim on the node it is pinned to.
type Need struct {
	Namespace, Claim, Node string
	NodeName               bool   // the pod has spec.nodeName: the scheduler never sees it
	Revision               string // the revision asked for, "" for none
	Fills                  bool   // the pod fills this claim, so it may be unfilled
	Declares               []string
}

// Choice is the node PVC that serves a [Need], or why there is none.
type Choice struct {
	PVC      string
	Pended   bool // the PVC does not exist yet: the scheduler holds the pod until it does
	Warnings []string
	Refusal  *Refusal
}

func refuse(reason Reason, remedy, format string, args ...any) *Refusal {
	return &Refusal{Reason: reason, Why: fmt.Sprintf(format, args...), Remedy: remedy}
}

// Choose picks the node PVC for a need. PVCs being deleted or Lost don't count;
// a revision asked for is a filter; ready before not ready; of several
// revisions, all ready, the newest. What is still plural is refused, naming
// all: never by list order or name, which differ between replicas of Berth.
func Choose(r *Reads, need Need) Choice {
	all := r.NodePVCs(need.Namespace, need.Claim, need.Node)
	live := filter(all, (*PVC).Live)
	if refusal := sameScope(need, live); refusal != nil {
		return Choice{Refusal: refusal}
	}
	wanted := filter(live, func(p *PVC) bool { return need.Revision == "" || sameRevision(p.Revision, need.Revision) })
	if len(wanted) == 0 {
		return missing(r, need, all)
	}
	p, refusal := pick(r.rules, need, wanted)
	if refusal != nil {
		return Choice{Refusal: refusal}
	}
	c := Choice{PVC: p.Name}
	for _, check := range []func(*Reads, Need, *PVC) (string, *Refusal){onThisNode, provisionedHere, filled, binds} {
		warning, refusal := check(r, need, p)
		if refusal != nil {
			return Choice{Refusal: refusal}
		}
		c.warn(warning)
	}
	c.warn(revisionTaken(r, need, p))
	if p.ReadWriteOncePod {
		c.warn(fmt.Sprintf("PVC %q is ReadWriteOncePod: one pod at a time, so a second or a surge pod waits", p.Name))
	}
	return c
}

func (c *Choice) warn(warning string) {
	if warning != "" {
		c.Warnings = append(c.Warnings, warning)
	}
}

func sameScope(need Need, live []*PVC) *Refusal {
	for _, p := range live {
		if p.Scope != live[0].Scope {
			return refuse(ScopeConflict, "Rename one of the claims, or give each a namespace of its own",
				"node %q has PVCs of different scope for it: %s", need.Node, describeAll(live, func(p *PVC) string { return fmt.Sprintf("scope %q", p.Scope) }))
		}
	}
	return nil
}

// digestLabelMin is how long a revision label must be to match as a prefix:
// operators cut digests to fit a label value (GKM cuts to 60 characters).
const digestLabelMin = 60

// sameRevision compares a revision label with the revision asked for.
func sameRevision(label, asked string) bool {
	label, asked = bareDigest(label), bareDigest(asked)
	return label == asked || len(label) >= digestLabelMin && strings.HasPrefix(asked, label)
}

func bareDigest(revision string) string { return strings.TrimPrefix(revision, "sha256:") }

// pick takes the one PVC that stands out among those wanted.
func pick(rules *Rules, need Need, wanted []*PVC) (*PVC, *Refusal) {
	ready := filter(wanted, func(p *PVC) bool { return p.Bound() && rules.filled(need, p) })
	pool := ready
	if len(ready) == 0 {
		pool = wanted
	}
	if len(pool) == 1 {
		return pool[0], nil
	}
	if len(ready) > 0 && need.Revision == "" && distinctRevisions(ready) {
		if p := newest(ready); p != nil {
			return p, nil
		}
	}
	remedy := "Delete or relabel all but one"
	if distinctRevisions(pool) {
		remedy = fmt.Sprintf("Ask for one with the pod annotation %s, or delete all but one", AnnRevision)
	}
	return nil, refuse(AmbiguousNodePVC, remedy, "node %q has %d PVCs for it: %s", need.Node, len(pool), describeAll(pool, revisionOf))
}

func distinctRevisions(pvcs []*PVC) bool {
	for i, p := range pvcs {
		if slices.ContainsFunc(pvcs[:i], func(q *PVC) bool { return q.Revision == p.Revision }) {
			return false
		}
	}
	return true
}

// newest is the PVC created last, or nil if two were at the same second.
func newest(pvcs []*PVC) *PVC {
	best, tied := pvcs[0], false
	for _, p := range pvcs[1:] {
		if p.Created > best.Created {
			best, tied = p, false
		} else if p.Created == best.Created {
			tied = true
		}
	}
	if tied {
		return nil
	}
	return best
}

func revisionTaken(r *Reads, need Need, p *PVC) string {
	s := r.Summary(need.Namespace, need.Claim)
	if s.Revisions < 2 {
		return ""
	}
	return fmt.Sprintf("claim %q has %d revisions here; took PVC %q, revision %q", need.Claim, s.Revisions, p.Name, abbreviate(p.Revision))
}

// abbreviate shortens a digest for a warning.
func abbreviate(revision string) string {
	const most = 20
	if len(revision) <= most {
		return revision
	}
	return revision[:12] + "…"
}

func revisionOf(p *PVC) string {
	if p.Revision == "" {
		return "no revision"
	}
	return fmt.Sprintf("revision %q", p.Revision)
}

// describeAll lists PVCs with one fact of each, cut at [ListMax].
func describeAll(pvcs []*PVC, fact func(*PVC) string) string {
	out := make([]string, 0, len(pvcs))
	for _, p := range pvcs {
		out = append(out, fmt.Sprintf("%s (%s)", p.Name, fact(p)))
	}
	return List(out)
}

func filter(pvcs []*PVC, keep func(*PVC) bool) []*PVC {
	var out []*PVC
	for _, p := range pvcs {
		if keep(p) {
			out = append(out, p)
		}
	}
	return out
}

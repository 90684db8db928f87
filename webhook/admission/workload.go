package admission

import (
	"errors"
	"fmt"

	"berth.dev/berth/webhook/admission/scan"
	"berth.dev/berth/webhook/claim"
)

// workload is what Berth reads of an object with pod templates.
type workload struct {
	metadata  podMetadata
	kind      workloadKind
	templates []template
	suspended bool
	ordinals  ordinals // of a StatefulSet
}

// parseWorkload reads an object of a kind, and the parts that its kind has.
func parseWorkload(k workloadKind, raw []byte) (*workload, error) {
	w := &workload{kind: k}
	raw, err := theObject(raw)
	if err != nil {
		return w, err
	}
	if err := w.readMetadata(raw); err != nil {
		return w, err
	}
	for _, path := range k.templates {
		found, err := findTemplates(k, raw, path)
		if err != nil {
			return w, err
		}
		w.templates = append(w.templates, found...)
	}
	switch {
	case k.placing == byOwnVolumes:
		return w, decode(raw, &w.ordinals)
	case k.suspends:
		var job suspendable
		err := decode(raw, &job)
		w.suspended = job.Spec.Suspend && k.resource != "cronjobs" || job.Spec.JobTemplate.Spec.Suspend
		return w, err
	}
	return w, nil
}

// readMetadata reads what Berth knows of an object's metadata.
func (w *workload) readMetadata(raw []byte) error {
	s := scan.New(raw)
	for s.Object(); s.Next(); {
		if string(s.Key()) != "metadata" {
			s.Skip()
			continue
		}
		s.Once(0)
		w.metadata.read(&s)
	}
	s.End()
	return s.Err()
}

// suspendable is what a Job or a JobSet says of its suspension, and a CronJob of
// its Jobs': a suspended CronJob's template is judged as if it ran.
type suspendable struct {
	Spec struct {
		Suspend     bool `json:"suspend"`
		JobTemplate struct {
			Spec struct {
				Suspend bool `json:"suspend"`
			} `json:"spec"`
		} `json:"jobTemplate"`
	} `json:"spec"`
}

// decideWorkload judges the CREATE or UPDATE of an object with pod templates,
// so that what can't work is refused at kubectl apply and not in a ReplicaSet's
// events. It is early advice: the pods are judged anyway.
func decideWorkload(req *Request, r *claim.Reads) Decision {
	k := workloadKindOf(req.Group, req.Resource)
	w, err := parseWorkload(k, req.Object)
	req.GenerateName = w.metadata.generateName
	switch {
	case w.metadata.deleting:
		return Decision{} // finalizers must never get stuck
	case err != nil && k.version == "" && !errors.As(err, new(scan.RefusalError)):
		return Decision{} // what Berth does not know well it does not judge
	case err != nil:
		return invalid(req, err)
	}
	found := judgement{}
	if req.Operation == "UPDATE" {
		old, err := parseWorkload(k, req.OldObject)
		switch {
		case errors.As(err, new(scan.RefusalError)): // nobody can tell what it had, so it had nothing
		case err != nil || sameTemplates(old.templates, w.templates):
			return Decision{} // scaling and status must never get stuck
		default:
			found.before = old.judge(req.Namespace, r).findings
		}
	}
	found.add(w.judge(req.Namespace, r))
	return w.verdict(found)
}

// judgement is what was found in a workload's templates.
type judgement struct {
	findings []finding
	before   []finding // those that the old object had
	warnings []string
}

// finding is a refusal of one claim in one template.
type finding struct {
	refusal claim.Refusal
	mount   mount
	subject *podCase
}

func (j *judgement) add(more judgement) {
	j.findings = append(j.findings, more.findings...)
	j.warnings = append(j.warnings, more.warnings...)
}

func (j *judgement) warn(warning string) {
	if warning != "" {
		j.warnings = append(j.warnings, warning)
	}
}

// isNew tells whether the old object lacked this (claim, reason). A change is
// refused only for what it brings: an object that was there before the
// namespace opted in can still be changed.
func (j *judgement) isNew(f finding) bool {
	for _, old := range j.before {
		if old.mount.claim == f.mount.claim && old.refusal.Reason == f.refusal.Reason {
			return false
		}
	}
	return true
}

// verdict refuses for what is new, unless the pods can still be made right:
// those of a workload with a controller are that one's to change, a suspended
// Job's template may still be pinned (KEP-2926), and the controller of a kind
// that nobody told Berth about may name the node in each pod.
func (w *workload) verdict(j judgement) Decision {
	d := Decision{}
	advice := w.hasController() || w.suspended || w.kind.placing == unknownPlaces
	for _, f := range j.findings {
		switch {
		case advice || !j.isNew(f):
			d.warn(fmt.Sprintf("claim %q (%s): %s", f.mount.claim, f.refusal.Reason, f.refusal.Why))
		case d.Reason == "":
			d = f.subject.refuse(d, f.mount, f.refusal)
		default:
			d.Causes = append(d.Causes, f.subject.cause(f.mount, f.refusal))
		}
	}
	if !d.Allowed() {
		d.Warnings = nil
		return d
	}
	for _, warning := range j.warnings {
		d.warn(warning)
	}
	return d
}

func (w *workload) hasController() bool { return controllerOf(w.metadata.owners) != nil }

// subject names the workload, and the template where there are several.
func (w *workload) subject(template string) string {
	kind := w.kind.kind
	if kind == "" {
		kind = w.kind.resource
	}
	name := w.metadata.name
	if name == "" {
		name = w.metadata.generateName + "*"
	}
	if len(w.templates) > 1 {
		return fmt.Sprintf("%s %q (%s)", kind, name, template)
	}
	return fmt.Sprintf("%s %q", kind, name)
}

// newCase is the i-th template under judgement.
func (w *workload) newCase(r *claim.Reads, namespace string, i int) *podCase {
	t := &w.templates[i]
	c := newCase(r, namespace, t.pod)
	c.workload, c.template, c.tolerations = w, t.path, t.tolerations
	return c
}

// judge looks at every template.
func (w *workload) judge(namespace string, r *claim.Reads) judgement {
	var j judgement
	for i := range w.templates {
		c := w.newCase(r, namespace, i)
		if refusal := c.tooMany(); refusal != nil {
			j.findings = append(j.findings, finding{refusal: *refusal, subject: c})
			continue
		}
		c.classify()
		if w.kind.placing == byOwnVolumes {
			w.ordinals.replaceVolumes(c)
		}
		if len(c.mounts) > 0 {
			j.add(w.judgeTemplate(c))
		}
	}
	return j
}

// judgeTemplate judges one template that mounts node-local claims or node PVCs.
func (w *workload) judgeTemplate(c *podCase) judgement {
	if w.kind.placing == onEveryNode {
		return judgement{warnings: c.onEveryNodeAdvice()}
	}
	local := c.localClaims()
	if len(local) == 0 {
		return judgement{} // it names node PVCs itself: its pods are judged one by one
	}
	c.resolution = claim.Resolve(c.reads, c.placement())
	switch {
	case c.resolution.Outcome == claim.Pinned:
		return c.pinnedTemplate(local)
	case w.kind.placing == byOwnVolumes && c.resolution.Outcome == claim.Unpinned:
		return w.judgeOrdinals(c, local)
	}
	refusal := c.notPinned()
	if c.resolution.Outcome == claim.Contradictory {
		refusal = c.contradictory()
	}
	return c.findAll(local, refusal)
}

// findAll is the same refusal for each claim.
func (c *podCase) findAll(local []mount, refusal claim.Refusal) judgement {
	var j judgement
	for _, m := range local {
		j.findings = append(j.findings, finding{refusal: refusal, mount: m, subject: c})
	}
	return j
}

// pinnedTemplate accepts a pinned template, and warns of what its pods would
// be refused for today.
func (c *podCase) pinnedTemplate(local []mount) judgement {
	var j judgement
	j.warn(c.resolution.Warning)
	asks, err := c.asks()
	if err != nil {
		return c.findAll(local[:1], invalidAnnotation(err))
	}
	for _, m := range local {
		choice := claim.Choose(c.reads, asks.need(c, m.claim))
		if choice.Refusal != nil {
			c.reads.DoubtAll()
			j.warn(fmt.Sprintf("claim %q: pods would be refused today: %s", m.claim, choice.Refusal.Why))
		}
		j.warnings = append(j.warnings, choice.Warnings...)
	}
	return j
}

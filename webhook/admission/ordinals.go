package admission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"berth.dev/berth/webhook/claim"
)

// ordinals is what a StatefulSet says of its pods: how many, numbered from
// where, each with PVCs of its own.
type ordinals struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int64 `json:"replicas"`
		Ordinals *struct {
			Start int64 `json:"start"`
		} `json:"ordinals"`
		ReserveOrdinals []json.RawMessage `json:"reserveOrdinals"` // OpenKruise: numbers left out
		Retention       *struct {
			WhenScaled  string `json:"whenScaled"`
			WhenDeleted string `json:"whenDeleted"`
		} `json:"persistentVolumeClaimRetentionPolicy"`
		Templates []claimTemplate `json:"volumeClaimTemplates"`
	} `json:"spec"`
}

type claimTemplate struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		StorageClassName *string `json:"storageClassName"`
	} `json:"spec"`
}

// failuresListed is how many pods of a StatefulSet a refusal lists.
const failuresListed = 5

// ordinalsMax bounds the numbers that are looked at: pods that pass have PVCs,
// so only a set that leaves out absurdly many numbers gets there.
const ordinalsMax = 100_000

// replaceVolumes leaves out the volumes that claim templates replace: the
// StatefulSet controller puts the pod's own PVC in the place of a volume of the
// template's name (updateStorage in pkg/controller/statefulset of Kubernetes).
func (o *ordinals) replaceVolumes(c *podCase) {
	replaced := func(m mount) bool {
		return slices.ContainsFunc(o.Spec.Templates, func(t claimTemplate) bool { return t.Metadata.Name == m.volume })
	}
	c.mounts, c.others = slices.DeleteFunc(c.mounts, replaced), slices.DeleteFunc(c.others, replaced)
}

// judgeOrdinals accepts a StatefulSet whose every pod is tied to a node by PVCs
// of its own that exist, stay and are bound.
func (w *workload) judgeOrdinals(c *podCase, local []mount) judgement {
	o := &w.ordinals
	replicas, start := int64(1), int64(0)
	if o.Spec.Replicas != nil {
		replicas = *o.Spec.Replicas
	}
	if o.Spec.Ordinals != nil {
		start = o.Spec.Ordinals.Start
	}
	if replicas <= 0 {
		return judgement{warnings: []string{"no replicas yet: each pod is judged when it is created"}}
	}
	if len(o.Spec.Templates) == 0 {
		return c.findAll(local, c.notPinned())
	}
	var failures []string
	reserved := o.reserved()
	for i := start; replicas > 0 && len(failures) < failuresListed && i >= start && i-start < ordinalsMax; i++ {
		if reserved(i) {
			continue
		}
		replicas--
		why, immediate := o.judgePod(c, i)
		if immediate {
			return judgement{warnings: []string{fmt.Sprintf("%s: each pod is judged when it is created", why)}}
		}
		if why != "" {
			failures = append(failures, why)
		}
	}
	if len(failures) > 0 {
		return c.findAll(local, c.notTied(failures))
	}
	return judgement{warnings: o.retention()}
}

// judgePod says why pod i is not tied to a node; "" if it is. immediate: its
// PVCs don't exist yet, and will be bound before it is scheduled.
func (o *ordinals) judgePod(c *podCase, i int64) (why string, immediate bool) {
	var own []string
	for _, t := range o.Spec.Templates {
		name := fmt.Sprintf("%s-%s-%d", t.Metadata.Name, o.Metadata.Name, i)
		pvc := c.reads.PVC(c.namespace, name)
		switch {
		case pvc == nil && bindsAtOnce(c.reads, t):
			return fmt.Sprintf("PVC %q does not exist yet", name), true
		case pvc == nil:
			return fmt.Sprintf("PVC %q does not exist", name), false
		case pvc.Deleting:
			return fmt.Sprintf("PVC %q is being deleted", name), false
		case !pvc.Bound():
			return fmt.Sprintf("PVC %q is not bound", name), false
		}
		own = append(own, name)
	}
	p := c.placement()
	p.PVCs = slices.Concat(own, p.PVCs)
	if res := claim.Resolve(c.reads, p); res.Outcome != claim.Pinned {
		return strings.TrimSpace(fmt.Sprintf("the volumes of pod %d do not tie it to one node %s", i, res.Why)), false
	}
	return "", false
}

// bindsAtOnce tells whether a claim template's PVCs are bound without a pod.
func bindsAtOnce(r *claim.Reads, t claimTemplate) bool {
	name := ""
	if t.Spec.StorageClassName != nil {
		if name = *t.Spec.StorageClassName; name == "" {
			return false // no class, no provisioner: only a PV made by hand
		}
	}
	class := r.StorageClass(name) // "" is the default class
	return class != nil && !class.WaitForFirstConsumer
}

func (c *podCase) notTied(failures []string) claim.Refusal {
	return claim.Refusal{
		Reason: claim.NotPinned,
		Why:    "its pods are tied to no node by volumes of their own, so no node's PVC can be chosen: " + strings.Join(failures, "; "),
		Remedy: "Use a DaemonSet, or create and bind the pods' own local volumes first, or pin the template: nodeSelector kubernetes.io/hostname",
	}
}

// retention warns of a policy by which the volumes, and with them the pods'
// nodes, go when the set shrinks or goes.
func (o *ordinals) retention() []string {
	if p := o.Spec.Retention; p != nil && (p.WhenScaled == "Delete" || p.WhenDeleted == "Delete") {
		return []string{"persistentVolumeClaimRetentionPolicy Delete: with its PVCs a pod loses its node, and is refused when it comes back"}
	}
	return nil
}

// reserved tells which numbers OpenKruise leaves out: 3, or "5-7".
func (o *ordinals) reserved() func(int64) bool {
	type span struct{ from, to int64 }
	var spans []span
	const most = 1000
	for _, raw := range o.Spec.ReserveOrdinals[:min(len(o.Spec.ReserveOrdinals), most)] {
		from, to, ok := strings.Cut(strings.Trim(string(raw), `"`), "-")
		if !ok {
			to = from
		}
		a, errA := strconv.ParseInt(from, 10, 64)
		b, errB := strconv.ParseInt(to, 10, 64)
		if errA == nil && errB == nil {
			spans = append(spans, span{a, b})
		}
	}
	return func(i int64) bool {
		return slices.ContainsFunc(spans, func(s span) bool { return s.from <= i && i <= s.to })
	}
}

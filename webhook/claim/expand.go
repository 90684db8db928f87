package claim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Template is what node PVCs are made from: one PVC, of which each node gets its own.
type Template struct {
	Namespace string // "" where the template names none
	Claim     string // the node-local claim
	Revision  string // of the data, "" for none
	// Labels and Annotations are the template's own, and its node PVCs'.
	Labels, Annotations map[string]string
	VolumeName          string // spec.volumeName
}

// NodePVC is the metadata of a node PVC that a template gives.
type NodePVC struct {
	Template            int // which of the templates
	Node                string
	Namespace, Name     string
	Labels, Annotations map[string]string
}

// clusterAnnotations are written by the cluster into a PVC that it has. On a
// new PVC they would be lies: with bind-completed and no volume it is Lost at once
// (syncBoundClaim in pkg/controller/volume/persistentvolume of Kubernetes).
func clusterAnnotations() []string {
	return []string{
		"kubectl.kubernetes.io/last-applied-configuration",
		"pv.kubernetes.io/bind-completed",
		"pv.kubernetes.io/bound-by-controller",
		"volume.kubernetes.io/storage-provisioner",
		"volume.beta.kubernetes.io/storage-provisioner",
	}
}

// Expand gives each node a node PVC of each template: in the order of the templates,
// then of the nodes' names. Names are those that a pod without a node PVC waits for,
// so both come from [NameTemplate.Name]. There are errors or node PVCs, not both.
func Expand(rules *Rules, templates []Template, nodes []string) ([]NodePVC, []error) {
	nodes = slices.Sorted(slices.Values(nodes))
	var out []NodePVC
	var errs []error
	owners := map[string]NodePVC{} // by namespace/name
	for i := range templates {
		t := &templates[i]
		if problems := t.problems(rules, len(nodes)); len(problems) > 0 {
			errs = append(errs, problems...)
			continue
		}
		for _, node := range nodes {
			pvc, err := t.expand(rules, node)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			pvc.Template = i
			key := pvc.Namespace + "/" + pvc.Name
			if other, taken := owners[key]; taken {
				errs = append(errs, fmt.Errorf("PVC %q would be claim %q on node %q and claim %q on node %q",
					pvc.Name, templates[other.Template].Claim, other.Node, t.Claim, node))
				continue
			}
			owners[key] = pvc
			out = append(out, pvc)
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

// problems are what is wrong with a template, whatever the node.
func (t *Template) problems(rules *Rules, nodes int) []error {
	var errs []error
	keys := &rules.Keys
	if !IsClaimName(t.Claim) {
		errs = append(errs, fmt.Errorf("claim %q is no label value, so no PVC can be labelled with it", cut(t.Claim)))
	}
	if revision := labelRevision(t.Revision); !IsLabelValue(revision) {
		errs = append(errs, fmt.Errorf("revision %q is no label value, so no PVC can be labelled with it", cut(t.Revision)))
	}
	switch {
	case rules.Names == "":
		errs = append(errs, fmt.Errorf("claim %q: names of node PVCs are not predictable here: the name template is empty", t.Claim))
	case rules.Names.CarriesRevision() && t.Revision == "":
		errs = append(errs, fmt.Errorf("claim %q: names of node PVCs carry a revision (%s), and none is given", t.Claim, rules.Names))
	}
	if t.VolumeName != "" && nodes > 1 {
		errs = append(errs, fmt.Errorf("claim %q: the template names spec.volumeName %q, and one volume can't be %d nodes'", t.Claim, t.VolumeName, nodes))
	}
	if t.Annotations[keys.PopulatedKey] == keys.PopulatedValue {
		errs = append(errs, fmt.Errorf("claim %q: the template says %s=%s, and no new PVC is filled: leave it out, or give another value if a Job fills it",
			t.Claim, keys.PopulatedKey, keys.PopulatedValue))
	}
	return errs
}

func (t *Template) expand(rules *Rules, node string) (NodePVC, error) {
	name := rules.Names.Name(t.Claim, node, labelRevision(t.Revision))
	if problem := nameProblem(name); problem != "" {
		return NodePVC{}, fmt.Errorf("node %q: %q can't name a PVC: %s", node, cut(name), problem)
	}
	return NodePVC{
		Node: node, Namespace: t.Namespace, Name: name,
		Labels: t.labels(&rules.Keys, node), Annotations: t.annotations(&rules.Keys, node),
	}, nil
}

// labels are the template's, and those that make a node PVC. A node's name too
// long for a label is left out: cut, it could be another node's.
func (t *Template) labels(keys *Keys, node string) map[string]string {
	labels := cloned(t.Labels)
	labels[keys.Claim] = t.Claim
	delete(labels, keys.Node)
	if IsLabelValue(node) {
		labels[keys.Node] = node
	}
	if t.Revision != "" {
		labels[keys.Revision] = labelRevision(t.Revision)
	}
	return labels
}

// annotations are the template's but for what a cluster wrote. A template with a selected
// node, whichever, wants one: each node PVC's is its own.
func (t *Template) annotations(keys *Keys, node string) map[string]string {
	annotations := cloned(t.Annotations)
	for _, key := range clusterAnnotations() {
		delete(annotations, key)
	}
	if _, ok := annotations[AnnSelectedNode]; ok {
		annotations[AnnSelectedNode] = node
	}
	delete(annotations, keys.Node) // it would win over the label
	if !IsLabelValue(node) {
		annotations[keys.Node] = node
	}
	return annotations
}

func cloned(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// labelRevision is a revision as a label value, and in a name. A digest is cut
// as operators cut it, and still matches, as a prefix.
func labelRevision(revision string) string {
	revision = bareDigest(revision)
	if len(revision) > validation.LabelValueMaxLength && strings.Trim(revision, "0123456789abcdef") == "" {
		return revision[:digestLabelMin]
	}
	return revision
}

// Repels tells whether a taint keeps pods off the Node that do not tolerate
// it; PreferNoSchedule does not.
func (n *Node) Repels() bool {
	return slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	})
}

// Unmatched are the node PVCs of the templates' claims that are of none of these nodes, and
// not being deleted already, sorted by namespace and name.
func Unmatched(pvcs []*PVC, templates []Template, nodes []string) []*PVC {
	out := filter(pvcs, func(p *PVC) bool {
		return p.IsNodePVC() && !p.Deleting && !slices.Contains(nodes, p.Node) &&
			slices.ContainsFunc(templates, func(t Template) bool { return t.Namespace == p.Namespace && t.Claim == p.Claim })
	})
	slices.SortFunc(out, comparePVCs)
	return out
}

func comparePVCs(a, b *PVC) int {
	if by := strings.Compare(a.Namespace, b.Namespace); by != 0 {
		return by
	}
	return strings.Compare(a.Name, b.Name)
}

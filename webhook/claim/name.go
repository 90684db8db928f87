package claim

import (
	"fmt"
	"iter"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// NameTemplate gives a node PVC its name: {claim}, {node} and {revision} stand
// for the node-local claim, the node's name and the revision. Empty means that
// names are not predictable.
type NameTemplate string

// DefaultNameTemplate names node PVCs model-cache-node-a.
const DefaultNameTemplate NameTemplate = "{claim}-{node}"

var placeholder = regexp.MustCompile(`\{[^{}]*\}`)

// Validate tells what is wrong with a template: it must name both claim and
// node (or two of them would share a PVC), and nothing unknown.
func (t NameTemplate) Validate() error {
	if t == "" {
		return nil
	}
	for _, p := range placeholder.FindAllString(string(t), -1) {
		if p != "{claim}" && p != "{node}" && p != "{revision}" {
			return fmt.Errorf("unknown placeholder %s: use {claim}, {node} and {revision}", p)
		}
	}
	for _, p := range []string{"{claim}", "{node}"} {
		if !strings.Contains(string(t), p) {
			return fmt.Errorf("%q lacks %s: different node PVCs would get one name", string(t), p)
		}
	}
	if problem := nameProblem(t.Name("claim", "node", "revision")); problem != "" {
		return fmt.Errorf("%q gives no valid PVC name: %s", string(t), problem)
	}
	return nil
}

// CarriesRevision tells whether the name says which revision it is.
func (t NameTemplate) CarriesRevision() bool { return strings.Contains(string(t), "{revision}") }

// Name is the node PVC's name that the template gives.
func (t NameTemplate) Name(claim, node, revision string) string {
	if t == DefaultNameTemplate {
		return claim + "-" + node
	}
	return strings.NewReplacer("{claim}", claim, "{node}", node, "{revision}", revision).Replace(string(t))
}

// readings are all claims and nodes for which the template gives this name. A
// template with a revision, or with one of them twice, is not read.
func (t NameTemplate) readings(name string) iter.Seq2[string, string] {
	return func(yield func(claim, node string) bool) {
		parts := placeholder.Split(string(t), -1)
		order := placeholder.FindAllString(string(t), -1)
		if len(order) != 2 || order[0] == order[1] {
			return
		}
		rest, ok := strings.CutPrefix(name, parts[0])
		if rest, ok = cutSuffix(rest, parts[2], ok); !ok {
			return
		}
		for i := 1; i < len(rest); i++ {
			right, ok := strings.CutPrefix(rest[i:], parts[1])
			if !ok || right == "" {
				continue
			}
			claim, node := rest[:i], right
			if order[0] == "{node}" {
				claim, node = node, claim
			}
			if !yield(claim, node) {
				return
			}
		}
	}
}

func cutSuffix(s, suffix string, ok bool) (string, bool) {
	rest, found := strings.CutSuffix(s, suffix)
	return rest, ok && found
}

// Gives tells whether the template gives this node PVC the name it has.
func (t NameTemplate) Gives(p *PVC) bool {
	return t != "" && t.Name(p.Claim, p.Node, p.Revision) == p.Name
}

// nameProblem says why a PVC can't have this name; "" if it can
// (ValidatePersistentVolumeName in pkg/apis/core/validation of Kubernetes).
func nameProblem(name string) string {
	if len(name) > validation.DNS1123SubdomainMaxLength { // before the regular expression, whose cost grows with it
		return fmt.Sprintf("it has %d characters, and a PVC name may have %d", len(name), validation.DNS1123SubdomainMaxLength)
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "a PVC name has lower-case letters, digits, '-' and '.' only"
	}
	return ""
}

// IsClaimName tells whether a claimName can be a node-local claim: it must be
// a label value.
func IsClaimName(name string) bool {
	return isName(name)
}

package admission

import (
	"fmt"
	"slices"
	"strings"

	"berth.dev/berth/webhook/claim"
)

// asks are what a pod's annotations ask for.
type asks struct {
	revision  string            // for every claim
	revisions map[string]string // claim -> revision
	fills     []string
}

func (c *podCase) asks() (asks, error) {
	a := asks{fills: list(c.pod.annotation(claim.AnnFills))}
	value := strings.TrimSpace(c.pod.annotation(claim.AnnRevision))
	if !strings.ContainsAny(value, "=,") {
		if value == digestPrefix {
			return asks{}, malformed(value)
		}
		a.revision = value
		return a, nil
	}
	a.revisions = map[string]string{}
	for pair := range strings.SplitSeq(value, ",") {
		name, revision, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok || !claim.IsClaimName(name) || revision == "" || revision == digestPrefix || a.revisions[name] != "" {
			return asks{}, malformed(value)
		}
		a.revisions[name] = revision
	}
	return a, nil
}

// digestPrefix is what a digest may begin with, and alone is none.
const digestPrefix = "sha256:"

func malformed(value string) error {
	return fmt.Errorf("annotation %s: %q is neither a revision nor claim=revision[,claim=revision]", claim.AnnRevision, shorten(value, 80))
}

func (a asks) need(c *podCase, name string) claim.Need {
	revision := a.revision
	if r, ok := a.revisions[name]; ok {
		revision = r
	}
	return claim.Need{
		Namespace: c.namespace, Claim: name, Node: c.resolution.Node,
		NodeName: c.pod.spec.nodeName != "", Revision: revision,
		Fills: slices.Contains(a.fills, name), Declares: c.declares,
	}
}

package lookup

import "berth.dev/berth/webhook/claim"

// Questions come from requests, and a request may ask about thousands of
// hostnames or claims. So many of one kind are answered from a single list.
const (
	nodesApart = 8  // questions about Nodes that are asked one by one
	pvcsApart  = 16 // questions about a namespace's PVCs that are
)

// allNodes and allPVCs are the questions for everything; no decision asks them.
var allNodes = claim.Question{Kind: claim.AskNodesByLabel}

func allPVCs(namespace string) claim.Question {
	return claim.Question{Kind: claim.AskClaim, Namespace: namespace}
}

func isBulk(q claim.Question) bool { return q == allNodes || q == allPVCs(q.Namespace) }

// bulkOf is the question for everything of a question's kind; false if there is none.
func bulkOf(q claim.Question) (claim.Question, bool) {
	switch q.Kind {
	case claim.AskNode, claim.AskNodesByLabel:
		return allNodes, true
	case claim.AskPVC, claim.AskClaim:
		return allPVCs(q.Namespace), true
	default:
		return claim.Question{}, false
	}
}

// plan sorts questions by the call that answers them: each its own, or one
// list for many of a kind.
func plan(questions []claim.Question) map[claim.Question][]claim.Question {
	apart := map[claim.Question]int{}
	for _, q := range questions {
		if bulk, ok := bulkOf(q); ok {
			apart[bulk]++
		}
	}
	calls := map[claim.Question][]claim.Question{}
	for _, q := range questions {
		call := q
		if bulk, ok := bulkOf(q); ok && apart[bulk] > most(bulk) {
			call = bulk
		}
		calls[call] = append(calls[call], q)
	}
	return calls
}

// most is how many questions are asked one by one before a list is taken.
func most(bulk claim.Question) int {
	if bulk == allNodes {
		return nodesApart
	}
	return pvcsApart
}

// spread gives each question its answer out of the answer for everything.
func spread(questions []claim.Question, all claim.Answer, facts claim.Facts) {
	for _, q := range questions {
		facts[q] = claim.Answer{}
	}
	keys := map[string]struct{}{} // the labels asked about
	for _, q := range questions {
		if q.Kind == claim.AskNodesByLabel {
			keys[q.Name] = struct{}{}
		}
	}
	for _, n := range all.Nodes {
		addNode(facts, claim.Question{Kind: claim.AskNode, Name: n.Name}, n)
		for key := range keys {
			if value, ok := n.Labels[key]; ok {
				addNode(facts, claim.Question{Kind: claim.AskNodesByLabel, Name: key, Value: value}, n)
			}
		}
	}
	for _, p := range all.PVCs {
		addPVC(facts, claim.Question{Kind: claim.AskPVC, Namespace: p.Namespace, Name: p.Name}, p)
		if p.IsNodePVC() {
			addPVC(facts, claim.Question{Kind: claim.AskClaim, Namespace: p.Namespace, Name: p.Claim}, p)
		}
	}
}

func addNode(facts claim.Facts, q claim.Question, n *claim.Node) {
	if a, ok := facts[q]; ok {
		a.Nodes = append(a.Nodes, n)
		facts[q] = a
	}
}

func addPVC(facts claim.Facts, q claim.Question, p *claim.PVC) {
	if a, ok := facts[q]; ok {
		a.PVCs = append(a.PVCs, p)
		facts[q] = a
	}
}

package claim

import (
	"iter"
	"slices"
	"strings"
)

// QuestionKind is the kind of object a [Question] is about.
type QuestionKind uint8

// The kinds of question.
const (
	AskNode         QuestionKind = iota // Name: a Node's name
	AskNodesByLabel                     // Name: a label key, Value: its value
	AskPVC                              // Namespace, Name: a PVC
	AskClaim                            // Namespace, Name: a node-local claim; all its node PVCs
	AskPV                               // Name: a PersistentVolume
	AskStorageClass                     // Name: a StorageClass; "" for the default one
)

// Question is one thing that a decision asked of the View.
type Question struct {
	Kind                   QuestionKind
	Namespace, Name, Value string
}

// Answer is what the cluster says to a [Question], read live: the Nodes, the
// PVCs, the PV or the StorageClass that exist now. Empty means that there is none.
type Answer struct {
	Nodes        []*Node
	PVCs         []*PVC
	PV           *PV
	StorageClass *StorageClass
}

// Facts are live answers, laid over a View.
type Facts map[Question]Answer

// Reads is a View as one decision sees it: live answers laid over it, and a
// record of what was asked. A decision marks what it can't stand on unless
// it is read live with Doubt and DoubtAll; the caller reads what Unsettled
// names and decides again.
type Reads struct {
	view    View
	rules   *Rules
	live    Facts
	asked   questions
	doubted questions
	all     int         // so many of asked are doubted, too
	few     [6]Question // room for what most decisions ask
}

// NewReads lays live facts (nil for none) over a View.
func NewReads(view View, rules *Rules, live Facts) *Reads {
	r := &Reads{view: view, rules: rules, live: live}
	r.asked.list = r.few[:0]
	return r
}

// Rules are the rules that decisions follow.
func (r *Reads) Rules() *Rules { return r.rules }

// Doubt marks a question whose answer must be read live before the decision stands.
func (r *Reads) Doubt(q Question) { r.doubted.add(q) }

// DoubtAll marks everything asked so far.
func (r *Reads) DoubtAll() { r.all = len(r.asked.list) }

// Unsettled are the questions marked and not read live yet, each once.
func (r *Reads) Unsettled() []Question {
	var out questions
	for _, list := range [][]Question{r.doubted.list, r.asked.list[:r.all]} {
		for _, q := range list {
			if _, ok := r.live[q]; !ok {
				out.add(q)
			}
		}
	}
	return out.list
}

// questions is a set that keeps its order. Most decisions ask a handful.
type questions struct {
	list []Question
	set  map[Question]struct{} // of list, once it is long
}

func (s *questions) add(q Question) {
	const long = 16
	if s.set == nil {
		if slices.Contains(s.list, q) {
			return
		}
		if s.list = append(s.list, q); len(s.list) == long {
			s.set = make(map[Question]struct{}, 2*long)
			for _, q := range s.list {
				s.set[q] = struct{}{}
			}
		}
		return
	}
	if _, ok := s.set[q]; !ok {
		s.set[q] = struct{}{}
		s.list = append(s.list, q)
	}
}

// ask records a question and gives its live answer, if there is one.
func (r *Reads) ask(q Question) (Answer, bool) {
	r.asked.add(q)
	a, ok := r.live[q]
	return a, ok
}

// Node is the Node of this name, or nil.
func (r *Reads) Node(name string) *Node {
	if a, ok := r.ask(Question{Kind: AskNode, Name: name}); ok {
		return first(a.Nodes)
	}
	for _, a := range r.live { // a Node read live by a label is known by its name too
		for _, n := range a.Nodes {
			if n.Name == name {
				return n
			}
		}
	}
	return r.view.Node(name)
}

// NodesByLabel are the Nodes that bear an identity label.
func (r *Reads) NodesByLabel(key, value string) []*Node {
	if a, ok := r.ask(Question{Kind: AskNodesByLabel, Name: key, Value: value}); ok {
		return a.Nodes
	}
	return r.view.NodesByLabel(key, value)
}

// AllNodes are all Nodes of the View. It serves hints only, so it is never
// read live and not recorded.
func (r *Reads) AllNodes() iter.Seq[*Node] { return r.view.AllNodes() }

// PVC is the PersistentVolumeClaim of this name, or nil.
func (r *Reads) PVC(namespace, name string) *PVC {
	if a, ok := r.ask(Question{Kind: AskPVC, Namespace: namespace, Name: name}); ok {
		return first(a.PVCs)
	}
	for _, a := range r.live { // and a node PVC read live by its claim
		for _, p := range a.PVCs {
			if p.Name == name && p.Namespace == namespace {
				return p
			}
		}
	}
	return r.view.PVC(namespace, name)
}

// NodePVCs are the node PVCs of a claim for one node, sorted by name.
func (r *Reads) NodePVCs(namespace, claim, node string) []*PVC {
	a, ok := r.ask(Question{Kind: AskClaim, Namespace: namespace, Name: claim})
	if !ok {
		return byName(r.view.NodePVCs(namespace, claim, node))
	}
	var out []*PVC
	for _, p := range a.PVCs {
		if p.Claim == claim && p.Node == node {
			out = append(out, p)
		}
	}
	return byName(out)
}

// Summary is what is known of all node PVCs of a claim together.
func (r *Reads) Summary(namespace, claim string) Summary {
	if a, ok := r.ask(Question{Kind: AskClaim, Namespace: namespace, Name: claim}); ok {
		return Summarize(a.PVCs, r.rules.Names)
	}
	return r.view.Summary(namespace, claim)
}

// Holders are the nodes with a live node PVC of the claim, sorted.
func (r *Reads) Holders(namespace, claim string) []string {
	a, ok := r.ask(Question{Kind: AskClaim, Namespace: namespace, Name: claim})
	if !ok {
		return r.view.Holders(namespace, claim)
	}
	var nodes []string
	for _, p := range a.PVCs {
		if p.IsNodePVC() && p.Live() {
			nodes = append(nodes, p.Node)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// PV is the PersistentVolume of this name, or nil.
func (r *Reads) PV(name string) *PV {
	if a, ok := r.ask(Question{Kind: AskPV, Name: name}); ok {
		return a.PV
	}
	return r.view.PV(name)
}

// AvailablePVs are the PersistentVolumes of a class that wait for a claim. They
// are never read live and not recorded: a PV may come at any time.
func (r *Reads) AvailablePVs(class string) []*PV { return r.view.AvailablePVs(class) }

// StorageClass is the StorageClass of this name, or nil; "" is the default class.
func (r *Reads) StorageClass(name string) *StorageClass {
	if a, ok := r.ask(Question{Kind: AskStorageClass, Name: name}); ok {
		return a.StorageClass
	}
	return r.view.StorageClass(name)
}

// Summarize counts the node PVCs of one claim in one namespace.
func Summarize(pvcs []*PVC, names NameTemplate) Summary {
	var s Summary
	revisions := map[string]struct{}{}
	for _, p := range pvcs {
		if !p.IsNodePVC() {
			continue
		}
		s.Total++
		if p.HasPopulated {
			s.Populated++
		}
		if !p.Live() {
			continue
		}
		s.Live++
		revisions[p.Revision] = struct{}{}
		if names.Gives(p) {
			s.Named++
		}
	}
	s.Revisions = len(revisions)
	return s
}

func first[T any](list []*T) *T {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func byName(pvcs []*PVC) []*PVC {
	if len(pvcs) < 2 {
		return pvcs
	}
	return slices.SortedFunc(slices.Values(pvcs), func(a, b *PVC) int { return strings.Compare(a.Name, b.Name) })
}

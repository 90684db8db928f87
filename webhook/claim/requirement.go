package claim

import (
	"math"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
)

// keyed is all that a term asks of one label, in a form that answers in constant
// time: pods come with thousands of values, and from anybody.
type keyed struct {
	in     sets.Set[string] // values that In lists, intersected; nil if there is no In
	notIn  sets.Set[string]
	exists bool // Exists, Gt or Lt: the label must be there
	absent bool // DoesNotExist
	above  int64
	below  int64 // Gt and Lt: above < value < below
	ranged bool
}

// keyedBy sorts requirements by their keys. They have been parsed before.
func keyedBy(requirements []corev1.NodeSelectorRequirement) map[string]*keyed {
	if len(requirements) == 0 {
		return nil
	}
	out := make(map[string]*keyed, len(requirements))
	for i := range requirements {
		q := &requirements[i]
		k := out[q.Key]
		if k == nil {
			k = &keyed{above: math.MinInt64, below: math.MaxInt64}
			out[q.Key] = k
		}
		k.add(q)
	}
	return out
}

func (k *keyed) add(q *corev1.NodeSelectorRequirement) {
	switch q.Operator {
	case corev1.NodeSelectorOpIn:
		listed := sets.New(q.Values...)
		if k.in != nil {
			listed = k.in.Intersection(listed)
		}
		k.in = listed
	case corev1.NodeSelectorOpNotIn:
		if k.notIn == nil {
			k.notIn = sets.New[string]()
		}
		k.notIn.Insert(q.Values...)
	case corev1.NodeSelectorOpExists:
		k.exists = true
	case corev1.NodeSelectorOpDoesNotExist:
		k.absent = true
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		k.bound(q)
	}
}

func (k *keyed) bound(q *corev1.NodeSelectorRequirement) {
	k.exists, k.ranged = true, true
	n, err := strconv.ParseInt(q.Values[0], 10, 64)
	if err != nil {
		return // it would not have been parsed
	}
	if q.Operator == corev1.NodeSelectorOpGt {
		k.above = max(k.above, n)
	} else {
		k.below = min(k.below, n)
	}
}

// merged is what two sets of requirements ask of one label together.
func (k *keyed) merged(with *keyed) *keyed {
	both := *k
	switch {
	case both.in == nil:
		both.in = with.in
	case with.in != nil:
		both.in = both.in.Intersection(with.in)
	}
	both.notIn = k.notIn.Union(with.notIn)
	both.exists, both.absent, both.ranged = k.exists || with.exists, k.absent || with.absent, k.ranged || with.ranged
	both.above, both.below = max(k.above, with.above), min(k.below, with.below)
	return &both
}

// satisfiable tells whether some value, or its absence, meets all of it, with
// only values that are allowed.
func (k *keyed) satisfiable(allowed func(value string) bool) bool {
	if k.absent {
		return k.in == nil && !k.exists
	}
	if k.in != nil {
		for value := range k.in {
			if !k.notIn.Has(value) && k.inRange(value) && allowed(value) {
				return true
			}
		}
		return false
	}
	if k.ranged {
		return k.someInRange(allowed)
	}
	return true // absent, or a value that nobody lists
}

func (k *keyed) inRange(value string) bool {
	if !k.ranged {
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && n > k.above && n < k.below
}

// someInRange tries as many numbers as could be excluded, and one more.
func (k *keyed) someInRange(allowed func(string) bool) bool {
	const tries = 1000
	for n, i := k.above, 0; i <= min(len(k.notIn)+1, tries) && n < k.below-1; i++ {
		n++
		if value := strconv.FormatInt(n, 10); !k.notIn.Has(value) && allowed(value) {
			return true
		}
	}
	return false
}

// lists tells whether In and NotIn, which alone list and exclude nodes, let a
// node through that bears this value, or none.
func (k *keyed) lists(value string, has bool) bool {
	if k.in != nil && (!has || !k.in.Has(value)) {
		return false
	}
	return !has || !k.notIn.Has(value)
}

// base is a node selector, prepared once for all terms that it is ANDed to.
type base struct {
	byKey      map[string]*keyed
	impossible bool // a value that no label can have
}

func newBase(selector map[string]string) base {
	if len(selector) == 0 {
		return base{}
	}
	b := base{byKey: make(map[string]*keyed, len(selector))}
	for key, value := range selector {
		b.byKey[key] = &keyed{in: sets.New(value), above: math.MinInt64, below: math.MaxInt64}
		if !IsLabelKey(key) || !IsLabelValue(value) {
			b.impossible = true
		}
	}
	return b
}

// labelKeyMax is the longest label key: a prefix, which is a DNS name, a slash, and a name.
const labelKeyMax = validation.DNS1123SubdomainMaxLength + 1 + validation.LabelValueMaxLength

// overlong tells whether a label can't be so for its length alone. The library, which
// says no in the end, runs a regular expression over all of it first.
func overlong(key string, values ...string) bool {
	return len(key) > labelKeyMax || slices.ContainsFunc(values, func(value string) bool { return len(value) > validation.LabelValueMaxLength })
}

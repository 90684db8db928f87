package claim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/claim"
)

// hostile are constraints that anybody may send, of a size that a pod of some
// hundred kilobytes can have.
func hostile(n int) map[string]claim.Placement {
	values := func(prefix string) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("%s%d", prefix, i))
		}
		return out
	}
	var keys, terms, notIn []corev1.NodeSelectorTerm
	selector := map[string]string{}
	for i := range n {
		keys = append(keys, label(fmt.Sprintf("k%d", i), in, "v"))
		terms = append(terms, host(fmt.Sprintf("h%d", i)))
		notIn = append(notIn, label("same", notInOp, fmt.Sprintf("v%d", i)))
		selector[fmt.Sprintf("k%d", i)] = "v"
	}
	return map[string]claim.Placement{
		"two disjoint lists of one label":       {Required: required(and(label("x", in, values("v")...), label("x", in, values("w")...)))},
		"one list of hosts nobody knows":        {Required: required(host(values("h")...))},
		"a term for each of many hosts":         {Required: required(terms...)},
		"a term with many labels":               {Required: required(and(keys...))},
		"many NotIn of one label":               {Required: required(and(notIn...))},
		"a large selector ANDed to many terms":  {NodeSelector: selector, Required: required(terms...)},
		"a range with many numbers left out":    {Required: required(and(label("n", gt, "0"), label("n", notInOp, values("")...)))},
		"a list of hosts that are all excluded": {Required: required(and(host(values("h")...), label(corev1.LabelHostname, notInOp, values("h")...)))},
	}
}

const notInOp = corev1.NodeSelectorOpNotIn

// TestHostileConstraintsCostTheirSize: ten times the constraints may allocate
// about ten times as much, not a hundred times.
func TestHostileConstraintsCostTheirSize(t *testing.T) {
	rules := claim.DefaultRules()
	v := view()
	large := hostile(2000)
	for what, small := range hostile(200) {
		t.Run("if there is "+what, func(t *testing.T) {
			allocations := func(p claim.Placement) float64 {
				return testing.AllocsPerRun(1, func() { claim.Resolve(claim.NewReads(v, &rules, nil), p) })
			}
			assert.Less(t, allocations(large[what]), 20*allocations(small)+1000)
		})
	}
}

// BenchmarkHostileConstraints shows what each costs.
func BenchmarkHostileConstraints(b *testing.B) {
	rules := claim.DefaultRules()
	v := view()
	for what, p := range hostile(2000) {
		b.Run(what, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				claim.Resolve(claim.NewReads(v, &rules, nil), p)
			}
		})
	}
}

package bench

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"berth.dev/berth/test/bench/contender"
	"berth.dev/berth/test/bench/world"
)

// BenchmarkBytes is one review from bytes to bytes, by review and contender. floor
// is json.Valid over the same bytes.
func BenchmarkBytes(b *testing.B) {
	all := contenders(b, small)
	for _, r := range small.Reviews() {
		for _, name := range []string{"berth", "berth-handler", "common-way"} {
			b.Run("review="+r.Slug+"/contender="+name, func(b *testing.B) { measure(b, r, all[name]) })
		}
		b.Run("review="+r.Slug+"/contender=floor", func(b *testing.B) {
			b.SetBytes(int64(len(r.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if !json.Valid(r.Body) {
					b.Fatal("the review is no JSON")
				}
			}
		})
	}
}

// measure runs a contender on one review. The last answer is checked: the right
// answer to a review is always the same.
func measure(b *testing.B, r world.Review, review contender.Review) {
	b.SetBytes(int64(len(r.Body)))
	b.ReportAllocs()
	var answer []byte
	var err error
	for b.Loop() {
		if answer, err = review(b.Context(), r.Body); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, r.Check(answer))
}

// BenchmarkGrowth is the review of a DaemonSet's pod in clusters of more and more
// nodes, with 20 claims that have a PVC and a PV on each of them.
func BenchmarkGrowth(b *testing.B) {
	for _, nodes := range []int{10, 100, 1_000, 5_000} {
		w := world.World{Nodes: nodes, Claims: 20}
		b.Run(fmt.Sprintf("nodes=%d/pvcs=%d", nodes, nodes*w.Claims), func(b *testing.B) {
			all, r := contenders(b, w), w.Reviews()[1]
			for _, name := range []string{"berth", "common-way"} {
				b.Run("contender="+name, func(b *testing.B) { measure(b, r, all[name]) })
			}
		})
	}
}

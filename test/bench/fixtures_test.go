package bench

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"berth.dev/berth/test/bench/contender"
	"berth.dev/berth/test/bench/world"
)

// small is the world of the reviews that are measured by their size.
var small = world.World{Nodes: 100, Claims: world.Namespaces}

// contenders are all that decide, by the names of their benchmarks.
func contenders(t testing.TB, w world.World) map[string]contender.Review {
	t.Helper()
	log.SetLogger(logr.Discard())
	common, err := contender.CommonWayHandler(t.Context(), w)
	require.NoError(t, err)
	return map[string]contender.Review{
		"berth":         contender.Berth(w),
		"berth-handler": call(contender.BerthHandler(w)),
		"common-way":    call(common),
	}
}

func TestContendersAnswerTheSameReviewsRight(t *testing.T) {
	reviews := append(slices.Concat(small.Reviews(), small.Refusals()), small.Stranger())
	for name, review := range contenders(t, small) {
		for _, r := range reviews {
			t.Run(name+", "+r.Name, func(t *testing.T) {
				answer, err := review(t.Context(), r.Body)
				require.NoError(t, err)
				assert.NoError(t, r.Check(answer))
			})
		}
	}
}

func TestReviewsHaveTheSizesOfTheirNames(t *testing.T) {
	sizes := map[string]int{"bare-pod": 3_000, "daemonset-pod": 8_000, "big-pod": 60_000, "deployment": 4_000}
	for _, r := range small.Reviews() {
		assert.InEpsilon(t, sizes[r.Slug], len(r.Body), 0.15, r.Name)
		assert.True(t, json.Valid(r.Body), r.Name)
	}
}

func TestReviewsAreTheSameInEveryRun(t *testing.T) {
	first, second := small.Reviews(), small.Reviews()
	assert.Equal(t, first, second)
}

func TestAWrongAnswerIsFound(t *testing.T) {
	reviews := small.Reviews()
	answer, err := contenders(t, small)["berth"](t.Context(), reviews[0].Body)
	require.NoError(t, err)
	require.NoError(t, reviews[0].Check(answer))
	other := reviews[0]
	other.ClaimName = world.PVCName(0, 1)
	assert.ErrorContains(t, other.Check(answer), "after the patch")
	assert.ErrorContains(t, reviews[1].Check(answer), "uid")
	other = reviews[0]
	other.Denied = true
	assert.ErrorContains(t, other.Check(answer), "allowed is true")
}

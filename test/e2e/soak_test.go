//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	// soakRate is how many reviews a second are sent, garbage among them.
	soakRate = 120
	// floors is how many pieces the time is cut into. Of each the least sample
	// counts: the heap breathes, and a busy machine makes requests overlap, but
	// what leaks lifts the floor.
	floors = 16
	// What the line through these floors may rise in all: by a slack, which a busy
	// machine's overlapping requests need, and by so much for each review. A leak of
	// 200 bytes a review, or of a goroutine or a file in a thousand, is over both
	// together after ten minutes.
	memorySlack, memoryPerReview = 4.0, 100.0 / (1 << 20) // MiB
	countSlack, countPerReview   = 10.0, 1.0 / 2000
	// goroutineSlack is how many goroutines may be more than before the load came, once
	// it is gone.
	goroutineSlack = 5
)

// TestSoak asks one Berth for SOAK (ten minutes) whatever clients may ask, while
// PVCs change without a pause: its memory and its goroutines must not grow from a
// fifth of the time on, and no answer may differ from the one first given.
func TestSoak(t *testing.T) {
	duration := soakDuration(t)
	n := newNamespaceLabelled(t, nil) // not opted in: this is about a Berth of its own
	for _, claim := range []string{"model-cache", "weights"} {
		for _, node := range []string{"node-a", "node-b"} {
			n.nodePVC(claim, node, "")
		}
	}
	changes := n.storm()
	b := n.startSoakBerth()
	idle := b.sample(t)
	l := newSoakLoad(t, b, n.name)
	l.learn(t)

	samples := b.sampleWhile(t, l, duration)
	l.stop()
	l.report(t)
	t.Logf("PVCs: %s", changes)
	assert.Greater(t, changes.made.Load(), int64(duration/time.Second), "the informers were kept busy")
	l.assertAnswers(t)
	assertNoGrowth(t, samples, duration/5)

	require.Eventually(t, func() bool { return b.sample(t).goroutines <= idle.goroutines+goroutineSlack }, patience, time.Second,
		"goroutines stay behind when the clients are gone")
	assert.Zero(t, b.metric(t, "berth_panics_total"))
	b.end(t)
}

// soakDuration is SOAK, ten minutes if it isn't set.
func soakDuration(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("SOAK")
	if text == "" {
		return 10 * time.Minute
	}
	duration, err := time.ParseDuration(text)
	require.NoError(t, err, "SOAK")
	return duration
}

// assertNoGrowth holds the samples since a time against the limits.
func assertNoGrowth(t *testing.T, samples []soakSample, since time.Duration) {
	t.Helper()
	for len(samples) > 0 && samples[0].at < since {
		samples = samples[1:]
	}
	require.Greater(t, len(samples), 10, "too few samples to draw a line")
	first, last := samples[0], samples[len(samples)-1]
	reviews := float64(last.reviews - first.reviews)
	memory, count := memorySlack+memoryPerReview*reviews, countSlack+countPerReview*reviews
	for name, what := range map[string]struct {
		of    func(soakSample) float64
		limit float64
	}{
		"resident memory, MiB": {func(s soakSample) float64 { return s.resident / (1 << 20) }, memory},
		"heap in use, MiB":     {func(s soakSample) float64 { return s.heap / (1 << 20) }, memory},
		"goroutines":           {func(s soakSample) float64 { return s.goroutines }, count},
		"open files":           {func(s soakSample) float64 { return s.files }, count},
	} {
		line := fit(samples, what.of)
		t.Logf("%-21s mean %.1f, least %.1f, most %.1f; the floor rises by %+.2f (limit %.1f) in %.0f reviews, from %s to %s",
			name+":", line.mean, line.least, line.most, line.growth, what.limit, reviews, first.at.Round(time.Second), last.at.Round(time.Second))
		assert.Less(t, line.growth, what.limit, "%s grow", name)
	}
}

// soakLine is a line through the floors of samples, by least squares.
type soakLine struct{ mean, least, most, growth float64 }

func fit(samples []soakSample, of func(soakSample) float64) soakLine {
	line := soakLine{least: of(samples[0])}
	for _, s := range samples {
		line.mean += of(s) / float64(len(samples))
		line.least, line.most = min(line.least, of(s)), max(line.most, of(s))
	}
	lowest := floorsOf(samples, of)
	mean, over, under := 0.0, 0.0, 0.0
	for _, y := range lowest {
		mean += y / float64(len(lowest))
	}
	for i, y := range lowest {
		x := float64(i) - float64(len(lowest)-1)/2
		over += x * (y - mean)
		under += x * x
	}
	line.growth = over / under * float64(len(lowest)-1)
	return line
}

// floorsOf are the least values of equal pieces of the time.
func floorsOf(samples []soakSample, of func(soakSample) float64) []float64 {
	pieces := min(floors, len(samples)/2)
	lowest := make([]float64, pieces)
	for i := range pieces {
		piece := samples[i*len(samples)/pieces : (i+1)*len(samples)/pieces]
		lowest[i] = of(piece[0])
		for _, s := range piece {
			lowest[i] = min(lowest[i], of(s))
		}
	}
	return lowest
}

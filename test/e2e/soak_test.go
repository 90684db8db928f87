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
	// growthLimit is how much the line through these floors may rise in all, as a
	// share of their mean. At this rate for ten minutes and 55 MiB resident, a leak
	// of 150 bytes a review is over it.
	growthLimit = 0.10
	// goroutineSlack is how much more the line of small numbers may rise.
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
	for name, of := range map[string]func(soakSample) float64{
		"resident memory, MiB": func(s soakSample) float64 { return s.resident / (1 << 20) },
		"goroutines":           func(s soakSample) float64 { return s.goroutines },
		"heap in use, MiB":     func(s soakSample) float64 { return s.heap / (1 << 20) },
		"open files":           func(s soakSample) float64 { return s.files },
	} {
		line := fit(samples, of)
		t.Logf("%-20s mean %.1f, least %.1f, most %.1f; the floor rises by %+.2f (%+.1f %%) from %s to %s",
			name+":", line.mean, line.least, line.most, line.growth, 100*line.growth/line.mean, samples[0].at.Round(time.Second), samples[len(samples)-1].at.Round(time.Second))
		slack := 0.0
		if name == "goroutines" || name == "open files" {
			slack = goroutineSlack
		}
		assert.Less(t, line.growth, growthLimit*line.mean+slack, "%s grow", name)
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

package load

import (
	"slices"
	"time"
)

// Times are how long requests took.
type Times []time.Duration

// Quantile is the time that the fraction q of the requests did not exceed; 0 if
// there are none.
func (t Times) Quantile(q float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

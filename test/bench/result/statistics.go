package result

import "slices"

// Summary is the middle of some values, and how far they spread.
type Summary struct {
	N               int
	Median          float64
	Lower, Upper    float64 // quartiles
	Lowest, Highest float64
}

// Summarize summarizes values; N is 0 if there are none.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(values))
	return Summary{
		N: len(sorted), Median: at(sorted, 0.5), Lower: at(sorted, 0.25), Upper: at(sorted, 0.75),
		Lowest: sorted[0], Highest: sorted[len(sorted)-1],
	}
}

// at is the quantile q of sorted values, between two of them where it falls there.
func at(sorted []float64, q float64) float64 {
	place := q * float64(len(sorted)-1)
	below := int(place)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
}

// Spread is half of the way between the quartiles, as a fraction of the median: half
// of all values are about as near as this.
func (s Summary) Spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return (s.Upper - s.Lower) / 2 / s.Median
}

// Of gives the summary of one unit of a case and a contender.
func Of(samples []Sample, which, contender, unit string) Summary {
	var values []float64
	for _, s := range samples {
		if value, ok := s.Values[unit]; ok && s.Case == which && s.Contender == contender {
			values = append(values, value)
		}
	}
	return Summarize(values)
}

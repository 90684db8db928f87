package main

import (
	"fmt"

	"berth.dev/berth/webhook/lookup"
)

// readManifests gives the objects of a YAML or JSON file, those of Lists
// included. What can't be read is told, one error each, and does not hide the rest.
func readManifests(data []byte, file string) (out []*manifest, errs []error) {
	n := 0
	for raw, err := range lookup.Documents(data) {
		n++
		place := fmt.Sprintf("%s:%d", file, n)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", place, err))
			continue
		}
		more, wrong := newManifests(raw, place)
		out, errs = append(out, more...), append(errs, wrong...)
	}
	return out, errs
}

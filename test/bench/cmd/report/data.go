package main

import (
	"errors"
	"fmt"
	"os"

	"berth.dev/berth/test/bench/result"
)

// data are the samples of every part that was run.
type data struct {
	machine                                            result.Machine
	bytes, growth, https, api, scale, daemonset, storm []result.Sample
}

// read reads the raw results. Parts that were not run are left out; parts from
// different machines are an error, because they can't stand in one table.
func read(folder string) (*data, error) {
	d := &data{}
	parts := []struct {
		name string
		read func(folder, part string) (result.Machine, []result.Sample, error)
		into *[]result.Sample
	}{
		{"bytes", result.ReadBenchmarks, &d.bytes}, {"growth", result.ReadBenchmarks, &d.growth},
		{"https", result.Read, &d.https}, {"api", result.Read, &d.api}, {"scale", result.Read, &d.scale},
		{"daemonset", result.Read, &d.daemonset}, {"storm", result.Read, &d.storm},
	}
	for _, part := range parts {
		machine, samples, err := part.read(folder, part.name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if d.machine != (result.Machine{}) && machine != d.machine {
			return nil, fmt.Errorf("%s was measured on %s, other parts on %s", part.name, machine, d.machine)
		}
		d.machine, *part.into = machine, samples
	}
	if d.machine == (result.Machine{}) {
		return nil, fmt.Errorf("%s has no results: run make bench", folder)
	}
	return d, nil
}

// label is a contender's name for people.
func label(contender string) string {
	switch contender {
	case "none":
		return "no webhook"
	case "bare-webhook":
		return "bare webhooks, constant answers"
	case "berth":
		return "Berth, as shipped"
	case "berth-http2":
		return "Berth with --http2"
	case "berth-mutate-only":
		return "Berth without its twin"
	case "common-way":
		return "the common way"
	case "cel":
		return "MutatingAdmissionPolicy"
	case "kyverno":
		return "Kyverno"
	}
	return contender
}

// cases are the cases of samples, in the order of their first appearance.
func cases(samples []result.Sample) []string {
	return distinct(samples, func(s result.Sample) string { return s.Case })
}

// names are the contenders of samples, in that order.
func names(samples []result.Sample) []string {
	return distinct(samples, func(s result.Sample) string { return s.Contender })
}

func distinct(samples []result.Sample, of func(result.Sample) string) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range samples {
		if key := of(s); !seen[key] {
			seen[key] = true
			out = append(out, key)
		}
	}
	return out
}

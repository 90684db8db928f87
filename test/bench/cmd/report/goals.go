package main

import (
	"fmt"
	"math"
	"strings"

	"berth.dev/berth/test/bench/result"
)

// goal is one of the numbers to reach.
type goal struct {
	what     string
	measured string
	reached  bool
}

func (g goal) verdict() string {
	if g.reached {
		return "reached"
	}
	return "**missed**"
}

// goals are those whose parts were run. Where there are several cases, the worst
// one counts.
func (d *data) goals() []goal {
	var out []goal
	if len(d.bytes) > 0 {
		out = append(out, d.bytesGoals()...)
	}
	if len(d.https) > 0 {
		out = append(out, d.httpsGoals()...)
	}
	if len(d.growth) > 0 {
		out = append(out, d.growthGoal())
	}
	if len(d.scale) > 0 {
		highest := result.Of(d.scale, "largest", "berth", "B-highest")
		out = append(out, goal{"5,000 nodes, 100,000 node PVCs and PVs: at most 200 MiB resident", mebibytes(highest), highest.Highest <= 200<<20})
	}
	if len(d.daemonset) > 0 {
		with, without := result.Of(d.daemonset, "daemonset", "berth", "pods/s"), result.Of(d.daemonset, "daemonset", "none", "pods/s")
		share := with.Median / without.Median
		out = append(out, goal{"DaemonSet of 1,000 nodes: at least 90 % of the pods a second without Berth", percent(share), share >= 0.9})
	}
	return out
}

// bytesGoals are about pods: a Deployment's review changes nothing.
func (d *data) bytesGoals() []goal {
	faster, leaner, floor := math.Inf(1), math.Inf(1), 0.0
	for _, c := range cases(d.bytes) {
		if !strings.HasSuffix(c, "pod") {
			continue
		}
		of := func(name, unit string) float64 { return result.Of(d.bytes, c, name, unit).Median }
		faster = min(faster, of("common-way", "ns/op")/of("berth", "ns/op"))
		leaner = min(leaner, of("common-way", "B/op")/of("berth", "B/op"))
		floor = max(floor, of("berth", "ns/op")/of("floor", "ns/op"))
	}
	return []goal{
		{"a pod's review: at least 10 times the throughput of the common way", fmt.Sprintf("%.0f times or more", faster), faster >= 10},
		{"at most a 20th of its allocated bytes", fmt.Sprintf("a %.0fth or less", leaner), leaner >= 20},
		{"at most 2 times as long as `json.Valid`", fmt.Sprintf("%.2f times or less", floor), floor <= 2},
	}
}

// httpsGoals are one a protocol.
func (d *data) httpsGoals() []goal {
	var out []goal
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		worst, best := math.Inf(1), 0.0
		for _, c := range cases(d.https) {
			if strings.HasPrefix(c, protocol+", ") && strings.HasSuffix(c, "pod") {
				share := result.Of(d.https, c, "berth", "req/s").Median / result.Of(d.https, c, "floor", "req/s").Median
				worst, best = min(worst, share), max(best, share)
			}
		}
		out = append(out, goal{
			"over " + protocol + ": at least 75 % of the throughput of a bare TLS server", percent(worst) + " to " + percent(best), worst >= 0.75,
		})
	}
	return out
}

func (d *data) growthGoal() goal {
	lowest, highest := math.Inf(1), 0.0
	for _, c := range cases(d.growth) {
		median := result.Of(d.growth, c, "berth", "ns/op").Median
		lowest, highest = min(lowest, median), max(highest, median)
	}
	return goal{"from 10 to 5,000 nodes: flat, within 1.5 times", fmt.Sprintf("%.2f times", highest/lowest), highest/lowest <= 1.5}
}

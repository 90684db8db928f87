package main

import (
	"fmt"
	"strings"

	"berth.dev/berth/test/bench/contender"
	"berth.dev/berth/test/bench/result"
)

// markdown is all that is told. Figures are medians of the rounds, ± half of the way
// between the quartiles.
func (d *data) markdown(plotFile string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "Measured by `make bench` on %s. Medians of the rounds, ± half of the way between the quartiles.\n", d.machine)
	sections := []struct {
		samples []result.Sample
		title   string
		write   func(*strings.Builder)
	}{
		{d.bytes, "One review, from bytes to bytes", d.writeBytes},
		{d.https, "Over HTTPS, connections kept, each server on one core", d.writeHTTPS},
		{d.api, "Pods created in a real API server", d.writeAPI},
		{d.growth, "A review in clusters of more and more nodes", func(out *strings.Builder) { d.writeGrowth(out, plotFile) }},
		{d.scale, "5,000 nodes, 100,000 node PVCs and as many PVs, in a real API server", d.writeScale},
		{d.daemonset, "A DaemonSet of 1,000 nodes, from its creation to that of the last pod", d.writeDaemonSet},
		{d.storm, "A storm: reviews while PVCs change", d.writeStorm},
	}
	if goals := d.goals(); len(goals) > 0 {
		row(&out, "\n| goal |", " measured |", " |")
		row(&out, "| --- |", " --- |", " --- |")
		for _, g := range goals {
			row(&out, fmt.Sprintf("| %s |", g.what), fmt.Sprintf(" %s |", g.measured), fmt.Sprintf(" %s |", g.verdict()))
		}
	}
	for _, section := range sections {
		if len(section.samples) > 0 {
			fmt.Fprintf(&out, "\n**%s**\n\n", section.title)
			section.write(&out)
		}
	}
	return out.String()
}

func row(out *strings.Builder, cells ...string) {
	for _, cell := range cells {
		out.WriteString(cell)
	}
	out.WriteByte('\n')
}

// line writes one line of a table.
func line(out *strings.Builder, cells ...string) {
	out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// head writes the head of a table.
func head(out *strings.Builder, cells ...string) {
	line(out, cells...)
	out.WriteString(strings.Repeat("| --- ", len(cells)) + "|\n")
}

func (d *data) writeBytes(out *strings.Builder) {
	head(out, "review", "Berth", "its HTTP handler", "the common way", "`json.Valid`", "Berth : common way", "allocated", "Berth : `json.Valid`")
	for _, c := range cases(d.bytes) {
		time := func(name string) result.Summary { return result.Of(d.bytes, c, name, "ns/op") }
		bytes := func(name string) float64 { return result.Of(d.bytes, c, name, "B/op").Median }
		line(out, strings.TrimPrefix(c, "review="), micros(time("berth"), 1e3), micros(time("berth-handler"), 1e3), micros(time("common-way"), 1e3), micros(time("floor"), 1e3),
			ratio(time("common-way").Median, time("berth").Median)+" as fast",
			fmt.Sprintf("%s B, a %.0fth", thousands(bytes("berth")), bytes("common-way")/bytes("berth")),
			ratio(time("berth").Median, time("floor").Median)+" as long")
	}
}

func (d *data) writeHTTPS(out *strings.Builder) {
	head(out, "protocol, review", "Berth", "the common way", "bare server", "bare with `json.Valid`", "Berth : bare", "bare with `json.Valid` : bare", "Berth : common way", "CPU a request: Berth, common way, bare", "p99: Berth, common way, bare")
	for _, c := range cases(d.https) {
		of := func(name, unit string) result.Summary { return result.Of(d.https, c, name, unit) }
		rate := func(name string) result.Summary { return of(name, "req/s") }
		three := func(unit string) string {
			var cells []string
			for _, name := range []string{"berth", "common-way", "floor"} {
				cells = append(cells, micros(of(name, unit), 1e-6))
			}
			return strings.Join(cells, ", ")
		}
		line(out, c, perSecond(rate("berth")), perSecond(rate("common-way")), perSecond(rate("floor")), perSecond(rate("floor-valid")),
			percent(rate("berth").Median/rate("floor").Median), percent(rate("floor-valid").Median/rate("floor").Median), ratio(rate("berth").Median, rate("common-way").Median), three("cpu-s/req"), three("p99-s"))
	}
}

func (d *data) writeAPI(out *strings.Builder) {
	head(out, "", "pods a second", "of those without", "p50", "p99", "what it can't do")
	without := result.Of(d.api, "pods", "none", "pods/s").Median
	for _, name := range names(d.api) {
		of := func(unit string) result.Summary { return result.Of(d.api, "pods", name, unit) }
		line(out, label(name), perSecond(of("pods/s")), percent(of("pods/s").Median/without), millis(of("p50-s")), millis(of("p99-s")),
			strings.Join(contender.Limits(name), " "))
	}
}

func (d *data) writeGrowth(out *strings.Builder, plotFile string) {
	head(out, "cluster", "Berth", "the common way")
	for _, c := range cases(d.growth) {
		line(out, strings.NewReplacer("nodes=", "", "/pvcs=", " nodes, ").Replace(c)+" node PVCs",
			micros(result.Of(d.growth, c, "berth", "ns/op"), 1e3), micros(result.Of(d.growth, c, "common-way", "ns/op"), 1e3))
	}
	fmt.Fprintf(out, "\n![time of a review by the number of nodes](%s)\n", plotFile)
}

func (d *data) writeScale(out *strings.Builder) {
	head(out, "", "resident when ready", "after reviews", "at its highest", "ready after")
	for _, name := range names(d.scale) {
		of := func(unit string) result.Summary { return result.Of(d.scale, "largest", name, unit) }
		line(out, label(name), mebibytes(of("B-ready")), mebibytes(of("B-resident")), mebibytes(of("B-highest")), seconds(of("ready-s")))
	}
}

func (d *data) writeDaemonSet(out *strings.Builder) {
	head(out, "", "time", "pods a second", "of those without", "of those with bare webhooks")
	rate := func(name string) float64 { return result.Of(d.daemonset, "daemonset", name, "pods/s").Median }
	for _, name := range names(d.daemonset) {
		of := func(unit string) result.Summary { return result.Of(d.daemonset, "daemonset", name, unit) }
		line(out, label(name), seconds(of("s")), perSecond(of("pods/s")), percent(rate(name)/rate("none")), percent(rate(name)/rate("bare-webhook")))
	}
}

func (d *data) writeStorm(out *strings.Builder) {
	of := func(unit string) result.Summary { return result.Of(d.storm, "storm", "berth", unit) }
	fmt.Fprintf(out, "%s reviews at %s a second while %s PVCs were updated: p50 %s, p99 %s, slowest %s; none wrong, none later than the webhook's timeout.\n",
		thousands(of("reviews").Median), thousands(of("reviews/s").Median), thousands(of("updates").Median), millis(of("p50-s")), millis(of("p99-s")), millis(of("slowest-s")))
}

package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"berth.dev/berth/test/bench/result"
)

// The plot's measures, in pixels.
const (
	plotWidth, plotHeight    = 640, 360
	left, right, top, bottom = 90, 150, 20, 50
)

// point is a cluster's size and what a review cost there, in microseconds.
type point struct {
	nodes                   float64
	median, lowest, highest float64
}

// axes maps values to pixels; both scales are logarithmic.
type axes struct{ minX, maxX, minY, maxY float64 }

func (a axes) x(value float64) float64 {
	return left + (plotWidth-left-right)*(math.Log10(value)-a.minX)/(a.maxX-a.minX)
}

func (a axes) y(value float64) float64 {
	return plotHeight - bottom - (plotHeight-top-bottom)*(math.Log10(value)-a.minY)/(a.maxY-a.minY)
}

// plot is an SVG of the time of a review by the number of nodes.
func plot(samples []result.Sample) string {
	lines := map[string][]point{}
	a := axes{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, name := range names(samples) {
		for _, c := range cases(samples) {
			p, ok := pointOf(samples, c, name)
			if !ok {
				continue
			}
			lines[name] = append(lines[name], p)
			a.minX, a.maxX = min(a.minX, math.Log10(p.nodes)), max(a.maxX, math.Log10(p.nodes))
			a.minY, a.maxY = min(a.minY, math.Floor(math.Log10(p.lowest))), max(a.maxY, math.Ceil(math.Log10(p.highest)))
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", plotWidth, plotHeight)
	a.draw(&out)
	colors := []string{"#1f5fa8", "#b5542a"}
	for i, name := range names(samples) {
		a.line(&out, lines[name], strings.TrimSuffix(label(name), ", as shipped"), colors[i%len(colors)])
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func pointOf(samples []result.Sample, which, contender string) (point, bool) {
	nodes, _, _ := strings.Cut(strings.TrimPrefix(which, "nodes="), "/")
	count, err := strconv.Atoi(nodes)
	s := result.Of(samples, which, contender, "ns/op")
	return point{float64(count), s.Median / 1e3, s.Lowest / 1e3, s.Highest / 1e3}, err == nil && s.N > 0
}

// draw draws the grid, the scales and their names.
func (a axes) draw(out *strings.Builder) {
	for exponent := a.minY; exponent <= a.maxY; exponent++ {
		y := a.y(math.Pow(10, exponent))
		fmt.Fprintf(out, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#dddddd"/>`+"\n", left, y, plotWidth-right, y)
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%s µs</text>`+"\n", left-8, y+4, thousands(math.Pow(10, exponent)))
	}
	for _, nodes := range []float64{10, 100, 1_000, 5_000} {
		if at := math.Log10(nodes); at >= a.minX && at <= a.maxX {
			fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", a.x(nodes), plotHeight-bottom+18, thousands(nodes))
		}
	}
	fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle">nodes, each with 20 node PVCs and PVs</text>`+"\n", left+(plotWidth-left-right)/2, plotHeight-12)
}

// line draws a contender's medians, with a bar from the lowest to the highest value.
func (a axes) line(out *strings.Builder, points []point, name, color string) {
	if len(points) == 0 {
		return
	}
	var corners []string
	for _, p := range points {
		x := a.x(p.nodes)
		corners = append(corners, fmt.Sprintf("%.1f,%.1f", x, a.y(p.median)))
		fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-opacity="0.5"/>`+"\n", x, a.y(p.lowest), x, a.y(p.highest), color)
		fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x, a.y(p.median), color)
	}
	fmt.Fprintf(out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(corners, " "), color)
	last := points[len(points)-1]
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", a.x(last.nodes)+10, a.y(last.median)+4, color, name)
}

package main

import (
	"fmt"
	"strconv"
	"strings"

	"berth.dev/berth/test/bench/result"
)

// micros is a time in microseconds; unit is how many of the summary's unit are one.
func micros(s result.Summary, unit float64) string { return figure(s, unit, "µs") }

func millis(s result.Summary) string { return figure(s, 1e-3, "ms") }

func seconds(s result.Summary) string { return figure(s, 1, "s") }

func mebibytes(s result.Summary) string { return figure(s, 1<<20, "MiB") }

func perSecond(s result.Summary) string { return figure(s, 1, "/s") }

// figure is a median and its spread, or "not run".
func figure(s result.Summary, unit float64, name string) string {
	if s.N == 0 {
		return "not run"
	}
	text := number(s.Median/unit) + " " + name
	if s.N > 1 {
		text += fmt.Sprintf(" ±%.0f %%", 100*s.Spread())
	}
	return text
}

// number has three digits that count.
func number(value float64) string {
	switch {
	case value >= 100:
		return thousands(value)
	case value >= 10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	}
	return strconv.FormatFloat(value, 'f', 2, 64)
}

// thousands is a whole number with its thousands apart.
func thousands(value float64) string {
	digits := strconv.FormatFloat(value, 'f', 0, 64)
	var out []string
	for len(digits) > 3 {
		out = append([]string{digits[len(digits)-3:]}, out...)
		digits = digits[:len(digits)-3]
	}
	return strings.Join(append([]string{digits}, out...), ",")
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

func ratio(a, b float64) string { return number(a/b) + " ×" }

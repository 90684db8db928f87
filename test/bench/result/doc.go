// Package result is what a run of the benchmarks keeps: raw files, one a part, from
// which alone the table and the plot are made. Parts of Go benchmarks keep the text
// that benchstat reads; the others keep a JSON object a line. Each file begins with
// the machine that it was measured on.
package result

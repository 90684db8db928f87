package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/test/bench/result"
)

func testMachine() result.Machine {
	return result.Machine{CPU: "A CPU", Cores: 2, OS: "linux/amd64", Go: "go1.26"}
}

// keep writes raw files as a run does.
func keep(t *testing.T, folder string) {
	t.Helper()
	write := func(part, text string) {
		require.NoError(t, os.WriteFile(result.BenchmarkFile(folder, part), []byte(testMachine().Header()+text), 0o600))
	}
	write("bytes", `BenchmarkBytes/review=bare-pod/contender=berth-2 1 20000 ns/op 1000 B/op 9 allocs/op
BenchmarkBytes/review=bare-pod/contender=common-way-2 1 600000 ns/op 90000 B/op 9 allocs/op
BenchmarkBytes/review=bare-pod/contender=floor-2 1 16000 ns/op 0 B/op 0 allocs/op
`)
	write("growth", `BenchmarkGrowth/nodes=10/pvcs=200/contender=berth-2 1 20000 ns/op
BenchmarkGrowth/nodes=5000/pvcs=100000/contender=berth-2 1 22000 ns/op
BenchmarkGrowth/nodes=10/pvcs=200/contender=common-way-2 1 600000 ns/op
BenchmarkGrowth/nodes=5000/pvcs=100000/contender=common-way-2 1 40000000 ns/op
`)
	record(t, folder, "daemonset",
		result.Sample{Case: "daemonset", Contender: "bare-webhook", Values: map[string]float64{"s": 2.5, "pods/s": 400}},
		result.Sample{Case: "daemonset", Contender: "none", Values: map[string]float64{"s": 2, "pods/s": 500}},
		result.Sample{Case: "daemonset", Contender: "berth", Values: map[string]float64{"s": 4, "pods/s": 250}})
}

func record(t *testing.T, folder, part string, samples ...result.Sample) {
	t.Helper()
	recorder, err := result.Create(folder, part, testMachine())
	require.NoError(t, err)
	for _, s := range samples {
		require.NoError(t, recorder.Record(s))
	}
	require.NoError(t, recorder.Close())
}

func TestTheTableComesFromTheRawFiles(t *testing.T) {
	folder := t.TempDir()
	keep(t, folder)
	into, svg := filepath.Join(folder, "README.md"), filepath.Join(folder, "growth.svg")
	require.NoError(t, os.WriteFile(into, []byte("before\n"+beginMarker+"\nold\n"+endMarker+"\nafter\n"), 0o600))
	require.NoError(t, run(folder, svg, into))
	text, err := os.ReadFile(into)
	require.NoError(t, err)
	for _, want := range []string{
		"before\n", "\nafter\n", "A CPU, 2 cores, linux/amd64, go1.26",
		"| bare-pod | 20.0 µs | not run | 600 µs | 16.0 µs | 30.0 × as fast | 1,000 B, a 90th | 1.25 × as long |",
		"30 times or more | reached |", "1.25 times or less | reached |", "1.10 times | reached |", "50 % | **missed** |",
		"| no webhook | 2.00 s | 500 /s | 100 % | 125 % |", "(growth.svg)",
	} {
		assert.Contains(t, string(text), want)
	}
	assert.NotContains(t, string(text), "old")
	assert.NotContains(t, string(text), "HTTPS", "a part that was not run is not told")
}

func TestThePlotIsWellFormed(t *testing.T) {
	folder := t.TempDir()
	keep(t, folder)
	d, err := read(folder)
	require.NoError(t, err)
	svg := plot(d.growth)
	assert.Equal(t, 2, strings.Count(svg, "<polyline"))
	assert.NotContains(t, svg, "NaN")
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
	}
}

func TestWhatCannotBeReported(t *testing.T) {
	folder := t.TempDir()
	_, err := read(folder)
	assert.ErrorContains(t, err, "no results")
	keep(t, folder)
	other := testMachine()
	other.Cores = 64
	recorder, err := result.Create(folder, "storm", other)
	require.NoError(t, err)
	require.NoError(t, recorder.Close())
	_, err = read(folder)
	assert.ErrorContains(t, err, "storm was measured on")
	_, err = between("no markers", "table")
	assert.Error(t, err)
}

func TestFigures(t *testing.T) {
	assert.Equal(t, "1,234,568", thousands(1234567.8))
	assert.Equal(t, "999", thousands(999))
	assert.Equal(t, "9.88", number(9.876))
	assert.Equal(t, "98.8", number(98.76))
	assert.Equal(t, "988", number(987.6))
	assert.Equal(t, "not run", figure(result.Summary{}, 1, "s"))
}

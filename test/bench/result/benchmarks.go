package result

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// BenchmarkFile is the raw file of a part that is a Go benchmark. benchstat reads it.
func BenchmarkFile(folder, part string) string { return filepath.Join(folder, part+".txt") }

// Header is how such a file begins: benchstat takes it for configuration.
func (m Machine) Header() string {
	return fmt.Sprintf("machine-cpu: %s\nmachine-cores: %d\nmachine-os: %s\nmachine-go: %s\n", m.CPU, m.Cores, m.OS, m.Go)
}

// ReadBenchmarks reads the output of Go benchmarks, in which the benchmarks' names
// end in /contender=NAME. What stands before that is the case; rounds are counted.
func ReadBenchmarks(folder, part string) (Machine, []Sample, error) {
	file, err := os.Open(BenchmarkFile(folder, part))
	if err != nil {
		return Machine{}, nil, fmt.Errorf("read the results of %s: %w", part, err)
	}
	defer func() { _ = file.Close() }()
	var machine Machine
	var samples []Sample
	rounds := map[string]int{}
	for lines := bufio.NewScanner(file); ; {
		if !lines.Scan() {
			return machine, samples, lines.Err()
		}
		if err := machine.take(lines.Text()); err != nil {
			return machine, nil, err
		}
		sample, ok, err := parseBenchmark(lines.Text())
		if err != nil {
			return machine, nil, fmt.Errorf("read the results of %s: %w", part, err)
		}
		if ok {
			rounds[sample.Case+sample.Contender]++
			sample.Round = rounds[sample.Case+sample.Contender]
			samples = append(samples, sample)
		}
	}
}

// take takes in a line of the header.
func (m *Machine) take(text string) error {
	key, value, _ := strings.Cut(text, ": ")
	var err error
	switch key {
	case "machine-cpu":
		m.CPU = value
	case "machine-cores":
		m.Cores, err = strconv.Atoi(value)
	case "machine-os":
		m.OS = value
	case "machine-go":
		m.Go = value
	}
	return err
}

// parseBenchmark reads one line; ok is false for one that is no result.
func parseBenchmark(text string) (sample Sample, ok bool, err error) {
	fields := strings.Fields(text)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return Sample{}, false, nil
	}
	name, contender, found := strings.Cut(fields[0], "/contender=")
	if !found {
		return Sample{}, false, errors.New("no contender in " + fields[0])
	}
	_, which, _ := strings.Cut(name, "/")
	if at := strings.LastIndex(contender, "-"); at > 0 { // GOMAXPROCS
		if _, err := strconv.Atoi(contender[at+1:]); err == nil {
			contender = contender[:at]
		}
	}
	sample = Sample{Case: which, Contender: contender, Values: map[string]float64{}}
	for i := 2; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return Sample{}, false, fmt.Errorf("%q: %w", text, err)
		}
		sample.Values[fields[i+1]] = value
	}
	return sample, true, nil
}

// Command report makes the table and the plot of the benchmarks, only from the raw
// files that cmd/bench kept. The table goes to standard output, or between the
// markers of a file.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The markers between which the table stands in a file.
const (
	beginMarker = "<!-- bench: written by make bench -->"
	endMarker   = "<!-- /bench -->"
)

func main() {
	results := flag.String("results", "../../bin/bench", "folder of the raw results")
	svg := flag.String("svg", "growth.svg", "file of the plot; its name in the table is relative to the folder of -into")
	into := flag.String("into", "", "file to write the table into, between its markers")
	flag.Parse()
	if err := run(*results, *svg, *into); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(results, svg, into string) error {
	data, err := read(results)
	if err != nil {
		return err
	}
	link := svg
	if into != "" {
		if link, err = relative(into, svg); err != nil {
			return fmt.Errorf("link the plot: %w", err)
		}
	}
	if len(data.growth) > 0 {
		if err := os.WriteFile(svg, []byte(plot(data.growth)), 0o644); err != nil {
			return fmt.Errorf("write the plot: %w", err)
		}
	}
	table := data.markdown(filepath.ToSlash(link))
	if into == "" {
		_, err := fmt.Print(table)
		return err
	}
	text, err := os.ReadFile(into)
	if err != nil {
		return fmt.Errorf("read %s: %w", into, err)
	}
	changed, err := between(string(text), table)
	if err != nil {
		return fmt.Errorf("%s: %w", into, err)
	}
	if err := os.WriteFile(into, []byte(changed), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", into, err)
	}
	return nil
}

// relative is a file as another one links it.
func relative(from, to string) (string, error) {
	base, err := filepath.Abs(filepath.Dir(from))
	if err != nil {
		return "", err
	}
	target, err := filepath.Abs(to)
	if err != nil {
		return "", err
	}
	return filepath.Rel(base, target)
}

// between puts the table between the markers.
func between(text, table string) (string, error) {
	before, rest, begins := strings.Cut(text, beginMarker+"\n")
	_, after, ends := strings.Cut(rest, endMarker)
	if !begins || !ends {
		return "", fmt.Errorf("there is no %s … %s", beginMarker, endMarker)
	}
	return before + beginMarker + "\n" + table + endMarker + after, nil
}

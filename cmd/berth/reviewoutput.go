package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// reviewColumns is how wide text output is where nothing longer must stay whole.
const reviewColumns = 100

// reviewPrinters are the formats of the output.
func reviewPrinters() map[string]func(io.Writer, []*reviewResult) error {
	return map[string]func(io.Writer, []*reviewResult) error{"text": printText, "json": printJSON, "yaml": printYAML}
}

func printJSON(out io.Writer, results []*reviewResult) error {
	return writeJSON(out, listOf(results))
}

// writeJSON writes a value for people and for jq.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func printYAML(out io.Writer, results []*reviewResult) error {
	text, err := yaml.Marshal(listOf(results))
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// listOf is a list that is [] and not null where it is empty.
func listOf(results []*reviewResult) []*reviewResult {
	return append([]*reviewResult{}, results...)
}

// printText writes a line for each object, and below it, indented, what there
// is to say about it.
func printText(out io.Writer, results []*reviewResult) error {
	var heads [][]string
	for _, r := range results {
		heads = append(heads, r.columns())
	}
	var b strings.Builder
	for i, line := range align(heads) {
		b.WriteString(line + "\n")
		results[i].details(&b)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (r *reviewResult) columns() []string {
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + name
	}
	columns := []string{printable(r.Source), printable(r.Kind), printable(name), r.Verdict}
	if r.Code != 0 {
		columns = append(columns, fmt.Sprintf("%d %s", r.Code, r.Reason))
	}
	return columns
}

// printable quotes what could forge a line or drive a terminal: manifests may
// come from anybody.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

func (r *reviewResult) details(b *strings.Builder) {
	const indent = "    "
	wrap(b, reviewColumns, indent, "", r.Message)
	for _, c := range r.Claims {
		fmt.Fprintf(b, "%svolume %s: %s -> %s\n", indent, printable(c.Volume), printable(c.Claim), printable(c.PVC))
	}
	if r.SelectedNode != "" {
		fmt.Fprintf(b, "%sselected node -> %s\n", indent, r.SelectedNode)
	}
	for _, w := range r.Warnings {
		wrap(b, reviewColumns, indent, "warning: ", w)
	}
	if len(r.Places) == 0 {
		return
	}
	rows := [][]string{{"NODE", "CLAIM", "STATE", "POD"}}
	for _, p := range r.Places {
		rows = append(rows, []string{p.Node, p.Claim, p.State, p.Outcome})
	}
	for _, line := range align(rows) {
		b.WriteString(indent + line + "\n")
	}
}

// align pads columns to their widest cell.
func align(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		lines[n] = strings.TrimRight(line.String(), " ")
	}
	return lines
}

// wrap writes a text in lines of at most so many columns, the first one after a
// prefix and the others under it. A longer word stays whole.
func wrap(b *strings.Builder, columns int, indent, prefix, text string) {
	line := indent + prefix
	next := strings.Repeat(" ", len(line))
	empty := true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			b.WriteString(line + "\n")
			line, empty = next, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	if !empty {
		b.WriteString(line + "\n")
	}
}

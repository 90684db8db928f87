package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"berth.dev/berth/webhook/claim"
)

const (
	// coverageColumns is how wide the table is where no name is longer.
	coverageColumns = 80
	// coverageRows is how many nodes of a claim the table has: the summary
	// should not scroll away.
	coverageRows = 20
)

// coveragePrinters are the formats of the output. The flag says whether the
// table shows namespaces though there be only one.
func coveragePrinters() map[string]func(io.Writer, []*claimCoverage, bool) error {
	return map[string]func(io.Writer, []*claimCoverage, bool) error{
		"table": printCoverage,
		"json": func(out io.Writer, found []*claimCoverage, _ bool) error {
			return writeJSON(out, append([]*claimCoverage{}, found...))
		},
	}
}

// coverageTable writes the coverage for people.
type coverageTable struct {
	found                []*claimCoverage
	namespaces, workload bool // columns
	text                 strings.Builder
}

func printCoverage(out io.Writer, found []*claimCoverage, namespaces bool) error {
	if len(found) == 0 {
		return nil
	}
	t := &coverageTable{found: found, namespaces: namespaces}
	for _, c := range found {
		t.namespaces = t.namespaces || c.Namespace != found[0].Namespace
		t.workload = t.workload || c.Workload != ""
	}
	t.summary()
	t.places()
	t.strays()
	_, err := io.WriteString(out, t.text.String())
	return err
}

// names are the cells that say which claim a row is about.
func (t *coverageTable) names(namespace, workload, claimName string) []string {
	var cells []string
	if t.namespaces {
		if namespace == "" {
			namespace = "<none>" // asked for in all namespaces, found in none
		}
		cells = append(cells, namespace)
	}
	if t.workload {
		cells = append(cells, workload)
	}
	return append(cells, claimName)
}

// summary has a row for each claim: on how many nodes it is ready, and what
// the other ones are.
func (t *coverageTable) summary() {
	const last = "NOT READY"
	rows := [][]string{append(t.names("NAMESPACE", "WORKLOAD", "CLAIM"), "READY", last)}
	for _, c := range t.found {
		ready := fmt.Sprintf("%d/%d", c.States[claim.StateReady]-c.misplaced(claim.StateReady), len(c.Places))
		rows = append(rows, append(t.names(c.Namespace, c.Workload, c.Claim), ready, c.notReady()))
	}
	lines := align(rows)
	indent := strings.Index(lines[0], last)
	for i, line := range lines {
		if utf8.RuneCountInString(line) <= coverageColumns {
			t.text.WriteString(line + "\n")
			continue
		}
		wrap(&t.text, coverageColumns, "", line[:indent], rows[i][len(rows[i])-1])
	}
}

func (c *claimCoverage) misplaced(of ...claim.State) int {
	n := 0
	for _, p := range c.Places {
		if p.Reason != "" && slices.Contains(of, p.State) {
			n++
		}
	}
	return n
}

// notReady counts the nodes that are not ready, worst first.
func (c *claimCoverage) notReady() string {
	var counts []string
	for _, state := range slices.Backward(claim.States()) {
		if n := c.States[state] - c.misplaced(state); n > 0 && state != claim.StateReady {
			counts = append(counts, fmt.Sprintf("%d %s", n, state))
		}
	}
	if n := c.misplaced(claim.States()...); n > 0 {
		counts = append([]string{fmt.Sprintf("%d another node's", n)}, counts...)
	}
	return strings.Join(counts, ", ")
}

// places has a row for each node that is not ready, worst first.
func (t *coverageTable) places() {
	rows := [][]string{append(t.names("NAMESPACE", "WORKLOAD", "CLAIM"), "NODE", "STATE", "PVC")}
	remarks := map[int][]string{} // under a row
	for _, c := range t.found {
		bad := c.worstFirst()
		for _, p := range bad[:min(len(bad), coverageRows)] {
			rows = append(rows, append(t.names(c.Namespace, c.Workload, c.Claim), p.Node, string(p.State), p.PVC))
			if p.Reason != "" {
				at := len(rows) - 1
				remarks[at] = append(remarks[at], fmt.Sprintf("%s: %s", p.Reason, p.Message))
			}
		}
		if more := len(bad) - coverageRows; more > 0 {
			at := len(rows) - 1
			remarks[at] = append(remarks[at], fmt.Sprintf("... and %d more nodes where %s is not ready: -o json lists them all", more, c.Claim))
		}
	}
	if len(rows) > 1 {
		t.text.WriteString("\n")
		t.rows(rows, remarks)
	}
}

// worstFirst are the nodes that are not ready: those that somebody must act
// for, then by state and name.
func (c *claimCoverage) worstFirst() []*placeCovered {
	bad := slices.DeleteFunc(slices.Clone(c.Places), (*placeCovered).isFine)
	order := claim.States()
	slices.SortStableFunc(bad, func(a, b *placeCovered) int { return b.badness(order) - a.badness(order) })
	return bad
}

func (p *placeCovered) badness(order []claim.State) int {
	if p.Reason != "" {
		return len(order)
	}
	return slices.Index(order, p.State)
}

// rows writes rows; where one gets too long, the PVC has a line of its own.
func (t *coverageTable) rows(rows [][]string, remarks map[int][]string) {
	const indent = "    "
	lines := align(rows)
	at := strings.LastIndex(lines[0], "PVC")
	for i, line := range lines {
		pvc := rows[i][len(rows[i])-1]
		if utf8.RuneCountInString(line) > coverageColumns && pvc != "" {
			line = strings.TrimRight(line[:at], " ") + "\n" + indent + pvc
		}
		t.text.WriteString(line + "\n")
		for _, remark := range remarks[i] {
			wrap(&t.text, coverageColumns, indent, "", remark)
		}
	}
}

// strays says which node PVCs are of no node, for instance of a mistyped one.
func (t *coverageTable) strays() {
	for _, c := range t.found {
		if len(c.Strays) == 0 {
			continue
		}
		var names []string
		for _, s := range c.Strays {
			names = append(names, fmt.Sprintf("%s (%s)", s.PVC, s.Node))
		}
		of := strings.Join(t.names(c.Namespace, c.Workload, c.Claim), " ")
		t.text.WriteString("\n")
		wrap(&t.text, coverageColumns, "", "", fmt.Sprintf("Node PVCs of %s whose Node does not exist: %s", of, claim.List(names)))
	}
}

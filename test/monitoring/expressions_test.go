package monitoring_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// parse reads an expression as the current Prometheus does.
func parse(t *testing.T, expr string) parser.Expr {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	require.NoError(t, err, expr)
	return parsed
}

// rules are the alert rules, read by the current rule parser.
func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(alerts, false, model.LegacyValidation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	require.Empty(t, errs)
	var out []rulefmt.Rule
	for _, group := range groups.Groups {
		out = append(out, group.Rules...)
	}
	require.NotEmpty(t, out)
	return out
}

// panel is a panel of the dashboard.
type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ RefID, Expr string }
}

// panels are the dashboard's, rows left out.
func panels(t *testing.T) []panel {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	require.NoError(t, err)
	var board struct {
		UID, Title string
		Panels     []panel
	}
	require.NoError(t, json.Unmarshal(text, &board))
	require.Equal(t, "Berth", board.Title)
	var out []panel
	for _, p := range board.Panels {
		if p.Type != "row" {
			out = append(out, p)
		}
	}
	require.NotEmpty(t, out)
	return out
}

// resolved is a dashboard's expression as Grafana sends it with all jobs chosen.
func resolved(expr string) string {
	return strings.NewReplacer("$job", ".*", "$__rate_interval", "1m").Replace(expr)
}

// operands are the parts of an alert's expression that have values while all is
// well: comparisons and set operators only filter them.
func operands(e parser.Expr) []parser.Expr {
	if e.Type() == parser.ValueTypeScalar {
		return nil
	}
	switch e := e.(type) {
	case *parser.ParenExpr:
		return operands(e.Expr)
	case *parser.BinaryExpr:
		if e.Op.IsSetOperator() || e.Op.IsComparisonOperator() && !e.ReturnBool {
			return append(operands(e.LHS), operands(e.RHS)...)
		}
	}
	return []parser.Expr{e}
}

// metricsOf are the names that an expression reads.
func metricsOf(e parser.Expr) []string {
	var out []string
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			out = append(out, s.Name)
		}
		return nil
	})
	return out
}

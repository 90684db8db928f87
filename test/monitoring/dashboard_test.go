package monitoring_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestDashboardIsWellFormed: panels have ids and titles of their own, queries that
// parse, and none lies on another.
func TestDashboardIsWellFormed(t *testing.T) {
	ids, titles, cells := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	for _, p := range panels(t) {
		assert.False(t, ids[p.ID], "%s: the id %d stands twice", p.Title, p.ID)
		assert.False(t, titles[p.Title], "%s stands twice", p.Title)
		ids[p.ID], titles[p.Title] = true, true
		assert.NotEmpty(t, p.Targets, p.Title)
		refs := map[string]bool{}
		for _, target := range p.Targets {
			parse(t, resolved(target.Expr))
			assert.False(t, refs[target.RefID], p.Title)
			refs[target.RefID] = true
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				assert.Empty(t, cells[[2]int{x, y}], "%s lies on it", p.Title)
				cells[[2]int{x, y}] = p.Title
			}
			assert.Less(t, x, 24, p.Title)
		}
	}
}

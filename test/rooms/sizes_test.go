package rooms_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The budgets.
const (
	fileLines         = 300
	functionLines     = 80
	coreFunctionLines = 50
)

// checkFile finds a file that is too long.
func checkFile(name, text string, most int) []string {
	if n := strings.Count(text, "\n"); n > most {
		return []string{fmt.Sprintf("%s has %d lines; %d are allowed", name, n, most)}
	}
	return nil
}

// checkFunctions finds functions that are too long, and those named init,
// whose effects nobody asked for.
func checkFunctions(s source, most int) []string {
	var out []string
	for _, decl := range s.file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		line, n := s.lines(f)
		if n > most {
			out = append(out, fmt.Sprintf("%s:%d: %s has %d lines; %d are allowed", s.name, line, f.Name.Name, n, most))
		}
		if f.Name.Name == "init" && f.Recv == nil {
			out = append(out, fmt.Sprintf("%s:%d: there is an init function", s.name, line))
		}
	}
	return out
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	eachFile(t, func(p *listed, name, text string) {
		assert.Empty(t, checkFile(name, text, fileLines))
		if isTest(name) {
			return // a table of cases may be long
		}
		most := functionLines
		if slices.Contains(core(), p.room()) {
			most = coreFunctionLines
		}
		assert.Empty(t, checkFunctions(parse(t, name, text), most))
	})
}

func TestSizeChecksFindWhatIsWrong(t *testing.T) {
	assert.Empty(t, checkFile("a.go", strings.Repeat("\n", 300), 300))
	assert.Len(t, checkFile("a.go", strings.Repeat("\n", 301), 300), 1)

	body := func(lines int) source {
		return parse(t, "a.go", "package a\n\nfunc (t T) f() {\n"+strings.Repeat("\tg()\n", lines-2)+"}\n\nfunc init() { g() }\n")
	}
	assert.Equal(t, []string{"a.go:8: there is an init function"}, checkFunctions(body(4), 4))
	assert.Equal(t, []string{"a.go:3: f has 5 lines; 4 are allowed", "a.go:9: there is an init function"}, checkFunctions(body(5), 4))
}

package rooms_test

import (
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// checkPackageDoc holds that exactly one file says what a package is for.
func checkPackageDoc(room string, files []source) []string {
	var documented []string
	for _, s := range files {
		if strings.TrimSpace(s.file.Doc.Text()) != "" {
			documented = append(documented, s.name)
		}
	}
	if len(documented) != 1 {
		return []string{fmt.Sprintf("%s: the package doc must stand in one file, not in %d: %v", room, len(documented), documented)}
	}
	return nil
}

// checkExported finds exported names without a doc comment. A group of
// constants or variables may share one; a comment on the line counts, too.
func checkExported(s source) []string {
	var out []string
	missing := func(n ast.Node, name string) {
		line, _ := s.lines(n)
		out = append(out, fmt.Sprintf("%s:%d: %s has no doc comment", s.name, line, name))
	}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && ast.IsExported(d.Name.Name) && (d.Recv == nil || ast.IsExported(receiver(d))) {
				missing(d, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, name := range undocumented(d, spec) {
					missing(spec, name)
				}
			}
		}
	}
	return out
}

// receiver is the type that a method belongs to.
func receiver(f *ast.FuncDecl) string {
	name := ""
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}

// undocumented are the exported names of a declaration without comment.
func undocumented(d *ast.GenDecl, spec ast.Spec) []string {
	var names []*ast.Ident
	doc := d.Doc
	switch s := spec.(type) {
	case *ast.TypeSpec:
		names = []*ast.Ident{s.Name}
		doc = firstOf(s.Doc, s.Comment)
		if !d.Lparen.IsValid() {
			doc = firstOf(doc, d.Doc)
		}
	case *ast.ValueSpec:
		names = s.Names
		doc = firstOf(s.Doc, s.Comment, d.Doc)
	}
	var out []string
	for _, name := range names {
		if doc == nil && name.IsExported() {
			out = append(out, name.Name)
		}
	}
	return out
}

func firstOf(comments ...*ast.CommentGroup) *ast.CommentGroup {
	for _, c := range comments {
		if c != nil {
			return c
		}
	}
	return nil
}

func TestEveryPackageHasOneDoc(t *testing.T) {
	for _, p := range packages(t) {
		names := p.GoFiles
		if len(names) == 0 {
			names = slices.Concat(p.TestGoFiles, p.XTestGoFiles)
		}
		var files []source
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			require.NoError(t, err)
			files = append(files, parse(t, name, string(text)))
		}
		assert.Empty(t, checkPackageDoc(p.room(), files))
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	eachFile(t, func(_ *listed, name, text string) {
		if !isTest(name) {
			assert.Empty(t, checkExported(parse(t, name, text)))
		}
	})
}

func TestDocChecksFindWhatIsWrong(t *testing.T) {
	documented, bare := parse(t, "doc.go", "// Package a is.\npackage a\n"), parse(t, "a.go", "// Lost.\n\npackage a\n")
	assert.Empty(t, checkPackageDoc("a", []source{documented, bare}))
	assert.Len(t, checkPackageDoc("a", []source{bare}), 1, "a comment apart from the clause is no doc")
	assert.Len(t, checkPackageDoc("a", []source{documented, documented}), 1)

	cases := map[string]struct {
		text string
		want []string // names
	}{
		"all documented":                      {"// F does.\nfunc F() {}\n\n// T is.\ntype T int\n\n// M does.\nfunc (t *T) M() {}\n", nil},
		"a function":                          {"func F() {}\n", []string{"F"}},
		"a type":                              {"type T int\n", []string{"T"}},
		"a type in a group needs its own":     {"// Types.\ntype (\n\tT int\n\t// U is.\n\tU int\n)\n", []string{"T"}},
		"a method of an exported type":        {"func (t *T[K]) M() {}\n", []string{"M"}},
		"a method of another type needs none": {"func (t *t) M() {}\n", nil},
		"constants may share a comment":       {"// Both.\nconst (\n\tA = 1\n\tB = 2\n)\n", nil},
		"a comment on the line counts":        {"const (\n\tA = 1 // one\n\tB = 2\n)\n", []string{"B"}},
		"two variables of one line":           {"var A, b, C int\n", []string{"A", "C"}},
		"what is not exported needs none":     {"func f() {}\n\ntype t int\n\nvar v int\n", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			found := checkExported(parse(t, "a.go", "package a\n\n"+tc.text))
			require.Len(t, found, len(tc.want), "%v", found)
			for i, want := range tc.want {
				assert.Contains(t, found[i], ": "+want+" has no doc comment")
			}
		})
	}
}

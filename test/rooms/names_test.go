package rooms_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// empty are the words that say nothing about what a thing is.
func empty() []string { return []string{"Manager", "Helper", "Util", "Processor", "Impl"} }

// isEmpty tells whether a name is such a word, or ends in one.
func isEmpty(name string) bool {
	return slices.ContainsFunc(empty(), func(word string) bool {
		return strings.HasSuffix(name, word) || strings.HasSuffix(name, word+"s") ||
			strings.EqualFold(name, word) || strings.EqualFold(name, word+"s")
	})
}

// checkNames finds packages, files, types, functions, constants and variables
// whose names end in an empty word.
func checkNames(s source) []string {
	_, base := split(s.name)
	names := []string{s.file.Name.Name, base}
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						names = append(names, id.Name)
					}
				}
			}
		}
	}
	var out []string
	for _, name := range names {
		if isEmpty(name) {
			out = append(out, fmt.Sprintf("%s: the name %q says nothing", s.name, name))
		}
	}
	return out
}

// split is a file's directory, and its name without ".go" and "_test".
func split(name string) (dir, base string) {
	at := strings.LastIndex(name, "/") + 1
	return name[:at], strings.TrimSuffix(strings.TrimSuffix(name[at:], ".go"), "_test")
}

func TestNamesSayWhatThingsAre(t *testing.T) {
	eachFile(t, func(_ *listed, name, text string) {
		assert.Empty(t, checkNames(parse(t, name, text)))
	})
}

func TestNameCheckFindsWhatIsWrong(t *testing.T) {
	bad := "package util\n\ntype PodManager struct{}\n\nfunc (p PodManager) runHelper() {}\n\nvar x, nodeUtils int\n\nconst patchProcessor = 1\n\ntype viewImpl int\n\nfunc managed() {}\n"
	found := checkNames(parse(t, "a/helpers_test.go", bad))
	var names []string
	for _, f := range found {
		names = append(names, strings.Split(f, `"`)[1])
	}
	assert.Equal(t, []string{"util", "helpers", "PodManager", "runHelper", "nodeUtils", "patchProcessor", "viewImpl"}, names)
	assert.Empty(t, checkNames(parse(t, "a/simple.go", "package a\n\nfunc until() {}\n\ntype Implication int\n")))
}

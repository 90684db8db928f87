package rooms_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is this module's path.
const module = "berth.dev/berth"

// listed is what the go tool says of a package.
type listed struct {
	ImportPath, Dir, Name              string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	Deps                               []string
}

// room is the package's path in the module; "." for the root.
func (p *listed) room() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// files are the package's files, with their tests.
func (p *listed) files() []string {
	return slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles)
}

// list asks the go tool once for all packages of the module.
var list = sync.OnceValues(func() ([]listed, error) {
	goMod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(goMod)))
	if err := touchDirs(cmd.Dir); err != nil {
		return nil, err
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
})

// touchDirs reads every directory: go test remembers what a test opened, and
// runs it again when a file comes or goes instead of giving a cached result.
func touchDirs(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		return err
	})
}

// packages are all packages of the module.
func packages(t *testing.T) []listed {
	t.Helper()
	found, err := list()
	require.NoError(t, err)
	rooms := map[string]bool{}
	for _, p := range found {
		rooms[p.room()] = true
	}
	for _, room := range []string{"cmd/berth", "webhook", "webhook/admission", "webhook/claim", "webhook/lookup", "certs"} {
		require.True(t, rooms[room], "room %s was not found", room)
	}
	return found
}

// source is one parsed file.
type source struct {
	name string // for messages
	set  *token.FileSet
	file *ast.File
}

func parse(t *testing.T, name, text string) source {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments)
	require.NoError(t, err)
	return source{name, set, file}
}

// lines are where a node begins and how many lines it has.
func (s source) lines(n ast.Node) (first, count int) {
	first = s.set.Position(n.Pos()).Line
	return first, s.set.Position(n.End()).Line - first + 1
}

// eachFile calls f with every file of the module, and its text.
func eachFile(t *testing.T, f func(p *listed, name, text string)) {
	t.Helper()
	for _, p := range packages(t) {
		for _, name := range p.files() {
			text, err := os.ReadFile(filepath.Join(p.Dir, name))
			require.NoError(t, err)
			f(&p, p.room()+"/"+name, string(text))
		}
	}
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

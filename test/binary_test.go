package test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// berth is the path of the program under test, built once by TestMain.
var berth string

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds berth, runs the tests, and leaves nothing behind.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "berth-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	berth = filepath.Join(dir, "berth")
	var output bytes.Buffer
	build := exec.Command("go", "build", "-trimpath", "-o", berth, "berth.dev/berth/cmd/berth")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stdout, build.Stderr = &output, &output
	if err := build.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "build berth: %v\n%s", err, output.Bytes())
		return 1
	}
	if err := readSources(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// readSources opens all that the binary is made of. Go's test cache notes which
// files a test has opened, and would else give a result of an older binary.
func readSources() error {
	for _, room := range []string{"../cmd", "../webhook", "../certs"} {
		err := filepath.WalkDir(room, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			_, err = os.ReadFile(path)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	root  = "../.." // of the repository
	chart = root + "/deploy/chart"
)

// tools are the programs that the tests run: Helm, and Berth as it is here. TestMain
// sets them, once for all tests.
var tools struct{ helm, berth string }

func TestMain(m *testing.M) {
	code, err := runWithTools(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

func runWithTools(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "berth-deploy-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if tools.berth, err = berthBinary(dir); err != nil {
		return 1, fmt.Errorf("build berth: %w", err)
	}
	if tools.helm, err = helmBinary(); err != nil {
		return 1, fmt.Errorf("find helm: %w", err)
	}
	return m.Run(), nil
}

// berthBinary is what BERTH names, or Berth built from the code that is here.
func berthBinary(dir string) (string, error) {
	if path := os.Getenv("BERTH"); path != "" {
		return exec.LookPath(path)
	}
	path := filepath.Join(dir, "berth")
	_, err := output("go", "build", "-C", root, "-o", path, "./cmd/berth")
	return path, err
}

// helmBinary is what HELM names, or the tool of test/tools/helm, built at need.
func helmBinary() (string, error) {
	if path := os.Getenv("HELM"); path != "" {
		return exec.LookPath(path)
	}
	path, err := output("go", "-C", root, "tool", "-n", "-modfile=test/tools/helm/go.mod", "helm")
	return strings.TrimSpace(path), err
}

// output is what a command prints; an error has what it says of it.
func output(name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), errors.Join(err, errors.New(strings.TrimSpace(stderr.String())))
	}
	return stdout.String(), nil
}

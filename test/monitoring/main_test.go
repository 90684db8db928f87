package monitoring_test

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
	"time"

	"github.com/stretchr/testify/require"
)

const (
	root      = "../.." // of the repository
	alerts    = root + "/deploy/chart/monitoring/alerts.yaml"
	dashboard = root + "/deploy/chart/monitoring/dashboard.json"
	handbook  = root + "/deploy/README.md"

	// patience bounds every wait on a program: far more than it needs.
	patience = 60 * time.Second
)

// berth is the path of the program under test, set once by TestMain.
var berth string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// run builds Berth, or takes the one that BERTH names, and runs the tests.
func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "berth-monitoring-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if berth = os.Getenv("BERTH"); berth == "" {
		berth = filepath.Join(dir, "berth")
		if _, err := output("go", "build", "-C", root, "-o", berth, "./cmd/berth"); err != nil {
			return 1, fmt.Errorf("build berth: %w", err)
		}
	}
	return m.Run(), nil
}

// debian finds a program of Debian's package prometheus. It may be missing on a
// developer's machine, but not in CI.
func debian(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("%s is not on PATH: install Debian's package prometheus", program)
	}
	require.NoError(t, err, "install Debian's package prometheus")
	return path
}

// output is what a command prints; an error has all that it says.
func output(name string, args ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), errors.Join(err, errors.New(strings.TrimSpace(stdout.String()+stderr.String())))
	}
	return stdout.String(), nil
}

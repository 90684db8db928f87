package test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// demo is a run of a demo script with a temporary directory of its own.
func demo(t *testing.T, script string, args ...string) (cmd *exec.Cmd, tmp string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	tmp = t.TempDir()
	cmd = exec.CommandContext(ctx, "bash", append([]string{script, berth}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	return cmd, tmp
}

func assertEmpty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "the demo left files behind")
}

// TestDemo runs the demo twice at once and holds its table.
func TestDemo(t *testing.T) {
	rows := map[string]string{
		"daemonset-pod":                       `rewritten +model-cache -> model-cache-node-a$`,
		"daemonset-pod-without-a-pvc":         `rewritten +model-cache -> model-cache-node-c$`,
		"deployment-pod":                      `refused +model-cache$`,
		"job-pinned-by-hostname":              `rewritten +model-cache -> model-cache-node-b$`,
		"one-of-two-hostnames":                `refused +model-cache$`,
		"contradictory-pins":                  `refused +model-cache$`,
		"statefulset-pod-with-a-local-volume": `rewritten +data-db-0, model-cache -> model-cache-node-b$`,
		"not-filled-yet":                      `refused +weights$`,
		"job-that-fills":                      `rewritten +weights -> weights-node-a$`,
		"newest-revision":                     `rewritten +adapters -> adapters-v2-node-a$`,
		"revision-asked-for":                  `rewritten +adapters -> adapters-v1-node-a$`,
		"another-nodes-pvc":                   `refused +model-cache-node-a$`,
		"left-for-the-twin":                   `refused +model-cache$`,
	}
	for _, name := range []string{"if the demo runs, then its table is right", "if it runs twice at once, then the other is right, too"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, tmp := demo(t, "demo/demo.sh")
			output, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", output)
			for slug, row := range rows {
				assert.Regexp(t, `(?m)^`+slug+` +`+row, string(output))
			}
			assert.Contains(t, string(output), "All 13 verdicts were the expected ones.")
			assert.NotContains(t, string(output), "EXPECTED")
			for line := range strings.Lines(string(output)) {
				assert.LessOrEqual(t, len(strings.TrimRight(line, "\n")), 100, line)
			}
			assertEmpty(t, tmp)
		})
	}
	reviews, err := os.ReadDir("demo/reviews")
	require.NoError(t, err)
	assert.Len(t, reviews, len(rows), "a review of the demo is shown by nobody")
}

// TestDemoTellsOfAWrongVerdict changes a review of a copy.
func TestDemoTellsOfAWrongVerdict(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("demo")))
	reviews := filepath.Join(dir, "reviews")
	content := readFile(t, filepath.Join(reviews, "deployment-pod.json"))
	require.NoError(t, os.WriteFile(filepath.Join(reviews, "daemonset-pod.json"), content, 0o600))
	cmd, tmp := demo(t, filepath.Join(dir, "demo.sh"))
	output, err := cmd.CombinedOutput()
	require.Error(t, err, "%s", output)
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Contains(t, string(output), "EXPECTED: rewritten")
	assert.Contains(t, string(output), "1 of 13 verdicts were not the expected ones")
	assertEmpty(t, tmp)
}

// TestDemoKeepsServing runs the line that it prints, and then interrupts it.
func TestDemoKeepsServing(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{
		"if it is interrupted, then berth is ended and the exit code is 0": syscall.SIGINT,
		"if it is terminated, then berth is ended and the exit code is 0":  syscall.SIGTERM,
	} {
		t.Run(name, func(t *testing.T) {
			cmd, tmp := demo(t, "demo/demo.sh", "--keep")
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			output := bufio.NewReader(stdout)
			try := curlLine(t, output)
			answer, err := exec.CommandContext(t.Context(), "bash", "-c", try).Output()
			assert.NoError(t, err, "%s", try)
			assert.Contains(t, string(answer), `"allowed": true`)
			require.NoError(t, cmd.Process.Signal(signal))
			_, _ = io.Copy(io.Discard, output)
			require.NoError(t, cmd.Wait())
			assertEmpty(t, tmp)
		})
	}
}

// curlLine waits for the line to try.
func curlLine(t *testing.T, output *bufio.Reader) string {
	t.Helper()
	for {
		line, err := output.ReadString('\n')
		require.NoError(t, err, "the demo printed no line to try")
		if regexp.MustCompile(`^ +curl `).MatchString(line) {
			return line
		}
	}
}

// TestDemoUsage holds that a bad call ends with one line, before anything is started.
func TestDemoUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"if no program is given, then the usage is told":      {},
		"if a flag is unknown, then it is named":              {"berth", "--kepe"},
		"if the program is not there, then that is told":      {"./no-such-berth"},
		"if only --keep is given, then the usage is told too": {"--keep"},
	} {
		t.Run(name, func(t *testing.T) {
			output, err := exec.CommandContext(t.Context(), "bash", append([]string{"demo/demo.sh"}, args...)...).CombinedOutput()
			require.Error(t, err)
			assert.Equal(t, 1, bytes.Count(output, []byte("\n")), "%s", output)
			assert.Regexp(t, `^demo\.sh: `, string(output))
		})
	}
}

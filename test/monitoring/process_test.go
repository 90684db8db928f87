package monitoring_test

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// process is a program that runs until the test ends.
type process struct {
	name string
	done chan struct{} // closed when its log has ended

	mu  sync.Mutex
	log []string
}

// start runs a program, and ends it with the test: SIGTERM, then exit code 0.
func start(t *testing.T, path string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{name: path, done: make(chan struct{})}
	go p.read(stderr)
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		kill := time.AfterFunc(patience, cancel)
		<-p.done
		assert.NoError(t, cmd.Wait(), "%s logged:\n%s", path, p.text())
		kill.Stop()
		cancel()
	})
	return p
}

func (p *process) read(r io.Reader) {
	defer close(p.done)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		p.mu.Lock()
		p.log = append(p.log, lines.Text())
		p.mu.Unlock()
	}
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// says waits until the log matches, and gives the submatches.
func (p *process) says(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var found []string
	require.Eventually(t, func() bool {
		found = re.FindStringSubmatch(p.text())
		return found != nil
	}, patience, 20*time.Millisecond, "%s never said %s", p.name, pattern)
	return found
}

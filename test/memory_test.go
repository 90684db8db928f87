package test

import (
	"bufio"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOversizedBodiesKeepMemoryFlat sends 800 MiB that are too much, and holds
// that they are not kept: neither where the length is told nor where it isn't.
func TestOversizedBodiesKeepMemoryFlat(t *testing.T) {
	const size, times, room = 20 << 20, 20, 96 << 20
	s := serveStandard(t)
	review := readFile(t, anyReview)
	s.review(t, "/mutate", review)
	before := s.resident(t)
	for range times {
		for _, told := range []bool{true, false} {
			assert.Equal(t, http.StatusRequestEntityTooLarge, s.postBlanks(t, size, told))
		}
	}
	assert.Less(t, s.resident(t), before+room, "resident memory grew")
	s.review(t, "/mutate", review)
}

// blanks is an endless JSON text of nothing.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// postBlanks posts so many bytes and gives the answer's code. The server may
// answer and close before it has read them all.
func (s *server) postBlanks(t *testing.T, size int64, told bool) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.address+"/mutate", io.LimitReader(blanks{}, size))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.ContentLength = -1
	if told {
		req.ContentLength = size
	}
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	return res.StatusCode
}

// resident is the server's resident memory in bytes, as it tells Prometheus.
func (s *server) resident(t *testing.T) int64 {
	t.Helper()
	code, metrics := s.ask(t, http.MethodGet, "/metrics")
	require.Equal(t, http.StatusOK, code)
	lines := bufio.NewScanner(strings.NewReader(metrics))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "process_resident_memory_bytes "); ok {
			bytes, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			return int64(bytes)
		}
	}
	require.NoError(t, lines.Err())
	t.Skip("this system does not tell a process's resident memory")
	return 0
}

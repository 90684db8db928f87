package lookup

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gate is a call that reads the number of the latest change when it is sent,
// and returns when it is let through.
type gate struct {
	latest atomic.Int64 // the state of the cluster
	sent   chan int64   // what each call has read
	pass   chan struct{}
	fail   error
}

func newGate() *gate { return &gate{sent: make(chan int64, 1000), pass: make(chan struct{})} }

func (g *gate) call(ctx context.Context, _ string) (int64, error) {
	read := g.latest.Load()
	g.sent <- read
	select {
	case <-g.pass:
		return read, g.fail
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

type result struct {
	value int64
	err   error
}

func askAsync(ctx context.Context, s *sharing[string, int64], key string) <-chan result {
	out := make(chan result, 1)
	go func() {
		v, err := s.ask(ctx, key)
		out <- result{v, err}
	}()
	return out
}

// waiting is how many wait for the next call of a key.
func waiting[K comparable, V any](s *sharing[K, V], key K) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.lines[key]; l != nil && l.next != nil {
		return l.next.askers
	}
	return 0
}

func idle[K comparable, V any](s *sharing[K, V]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines) == 0
}

func TestAskerThatComesAfterACallWasSentGetsANewerAnswer(t *testing.T) {
	g := newGate()
	s := newSharing(time.Minute, g.call)
	g.latest.Store(1)
	early := askAsync(t.Context(), s, "k")
	require.EqualValues(t, 1, <-g.sent)

	g.latest.Store(2) // say, the PVC is created
	late := []<-chan result{askAsync(t.Context(), s, "k"), askAsync(t.Context(), s, "k")}
	require.Eventually(t, func() bool { return waiting(s, "k") == 2 }, soon, tick)
	assert.Empty(t, g.sent, "the next call starts when the running one has returned")

	g.pass <- struct{}{}
	assert.Equal(t, result{1, nil}, <-early)
	require.EqualValues(t, 2, <-g.sent)
	g.pass <- struct{}{}
	for _, r := range late {
		assert.Equal(t, result{2, nil}, <-r)
	}
	assert.Empty(t, g.sent)
	require.Eventually(t, func() bool { return idle(s) }, soon, tick)
}

func TestAHundredAskersCostTwoCallsAtMost(t *testing.T) {
	g := newGate()
	s := newSharing(time.Minute, g.call)
	var answers []<-chan result
	for range 100 {
		answers = append(answers, askAsync(t.Context(), s, "k"))
	}
	require.Eventually(t, func() bool { return waiting(s, "k") == 99 }, soon, tick)
	close(g.pass)
	for _, a := range answers {
		require.NoError(t, (<-a).err)
	}
	assert.Len(t, g.sent, 2)
}

func TestKeysDoNotWaitForEachOther(t *testing.T) {
	g := newGate()
	s := newSharing(time.Minute, g.call)
	one, two := askAsync(t.Context(), s, "1"), askAsync(t.Context(), s, "2")
	<-g.sent
	<-g.sent
	close(g.pass)
	require.NoError(t, (<-one).err)
	require.NoError(t, (<-two).err)
}

func TestAskerThatGivesUpReturnsAtOnceAndTakesNothingFromOthers(t *testing.T) {
	g := newGate()
	s := newSharing(time.Minute, g.call)
	ctx, cancel := context.WithCancel(t.Context())
	first := askAsync(ctx, s, "k")
	<-g.sent
	leaving, staying := askAsync(ctx, s, "k"), askAsync(t.Context(), s, "k")
	require.Eventually(t, func() bool { return waiting(s, "k") == 2 }, soon, tick)
	cancel()
	require.ErrorIs(t, (<-first).err, context.Canceled) // while the call is blocked
	require.ErrorIs(t, (<-leaving).err, context.Canceled)
	close(g.pass)
	require.NoError(t, (<-staying).err)
	_, err := s.ask(ctx, "k")
	require.ErrorIs(t, err, context.Canceled, "nothing is sent for who has gone before")
	require.Eventually(t, func() bool { return idle(s) }, soon, tick)
	assert.Len(t, g.sent, 1)
}

func TestCallNobodyWaitsForIsNotSent(t *testing.T) {
	g := newGate()
	s := newSharing(time.Minute, g.call)
	first := askAsync(t.Context(), s, "k")
	<-g.sent
	ctx, cancel := context.WithCancel(t.Context())
	left := askAsync(ctx, s, "k")
	require.Eventually(t, func() bool { return waiting(s, "k") == 1 }, soon, tick)
	cancel()
	<-left
	close(g.pass)
	require.NoError(t, (<-first).err)
	require.Eventually(t, func() bool { return idle(s) }, soon, tick)
	assert.Empty(t, g.sent)
}

func TestCallEndsAtItsOwnDeadline(t *testing.T) {
	g := newGate()
	s := newSharing(10*time.Millisecond, g.call)
	_, err := s.ask(t.Context(), "k")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestFailureIsSharedAndNotKept(t *testing.T) {
	g := newGate()
	close(g.pass)
	g.fail = errors.New("no")
	s := newSharing(time.Minute, g.call)
	_, err := s.ask(t.Context(), "k")
	require.EqualError(t, err, "no")
	require.Eventually(t, func() bool { return idle(s) }, soon, tick)
	g.fail = nil
	_, err = s.ask(t.Context(), "k")
	require.NoError(t, err)
}

func TestSharingUnderLoadStaysFreshAndLeaksNothing(t *testing.T) {
	before := runtime.NumGoroutine()
	var clock atomic.Int64
	s := newSharing(time.Minute, func(context.Context, string) (int64, error) { return clock.Add(1), nil })
	var askers sync.WaitGroup
	for i := range 16 {
		askers.Go(func() {
			for j := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+j)%5 == 0 {
					go cancel()
				}
				asked := clock.Load()
				if v, err := s.ask(ctx, []string{"a", "b"}[j%2]); err == nil && v <= asked {
					t.Errorf("asked at %d, answered as of %d", asked, v)
				}
				cancel()
			}
		})
	}
	askers.Wait()
	require.Eventually(t, func() bool {
		return idle(s) && runtime.NumGoroutine() <= before+1 // the one that asks this
	}, soon, tick)
}

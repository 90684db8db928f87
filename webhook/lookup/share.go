package lookup

import (
	"context"
	"sync"
	"time"
)

// sharing lets askers of one key share calls, as far as that can't make an
// answer older than its question: while a call runs, whoever comes later waits
// for the next one, which all of them share and which starts when the running
// one has returned.
type sharing[K comparable, V any] struct {
	call    func(context.Context, K) (V, error)
	timeout time.Duration // of one call

	mu    sync.Mutex
	lines map[K]*line[V] // of the keys with a running call
}

// line is what goes on for one key.
type line[V any] struct {
	running *call[V]
	next    *call[V] // nil if nobody waits for it
}

// call is one call, sent or waiting to be sent.
type call[V any] struct {
	ctx    context.Context // of its first asker, without its end
	askers int             // who still wait for it; guarded by sharing.mu
	done   chan struct{}
	value  V // valid once done is closed
	err    error
}

func newCall[V any](ctx context.Context) *call[V] {
	return &call[V]{ctx: context.WithoutCancel(ctx), done: make(chan struct{})}
}

func newSharing[K comparable, V any](timeout time.Duration, f func(context.Context, K) (V, error)) *sharing[K, V] {
	return &sharing[K, V]{call: f, timeout: timeout, lines: map[K]*line[V]{}}
}

// ask gives an answer that was read after ask began, or the context's error.
func (s *sharing[K, V]) ask(ctx context.Context, key K) (V, error) {
	var none V
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	c := s.join(ctx, key)
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		s.leave(c)
		return none, context.Cause(ctx)
	}
}

// join gives the call to wait for: a new one where none runs, else the next.
func (s *sharing[K, V]) join(ctx context.Context, key K) *call[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil {
		l = &line[V]{running: newCall[V](ctx)}
		l.running.askers++
		s.lines[key] = l
		go s.serve(key, l)
		return l.running
	}
	if l.next == nil {
		l.next = newCall[V](ctx)
	}
	l.next.askers++
	return l.next
}

func (s *sharing[K, V]) leave(c *call[V]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.askers--
}

// serve sends the calls of a line, one after the other, until nobody waits.
func (s *sharing[K, V]) serve(key K, l *line[V]) {
	for c := l.running; c != nil; c = s.advance(key, l) {
		s.send(key, c)
	}
}

// send makes one call, under a deadline of its own: an asker that gives up
// must not take the answer from the others.
func (s *sharing[K, V]) send(key K, c *call[V]) {
	ctx, cancel := context.WithTimeout(c.ctx, s.timeout)
	defer cancel()
	defer close(c.done)
	c.value, c.err = s.call(ctx, key)
}

// advance gives the next call that somebody waits for, or ends the line.
func (s *sharing[K, V]) advance(key K, l *line[V]) *call[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.running, l.next = l.next, nil
	if l.running == nil || l.running.askers == 0 {
		delete(s.lines, key)
		return nil
	}
	return l.running
}

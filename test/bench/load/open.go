package load

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Open sends so many requests a second for a while, each when its time has come,
// on connections of their own. Times count from when a request should have left: a
// server that stops for a second is seen by all requests of that second. body gives
// the nth request and the check of its answer.
func Open(ctx context.Context, target Target, perSecond, connections int, round time.Duration, body func(n int) ([]byte, Check)) (Result, error) {
	total := int(float64(perSecond) * round.Seconds())
	due := make(chan int, total)
	began := time.Now()
	dueAt := func(n int) time.Time { return began.Add(time.Duration(n) * time.Second / time.Duration(perSecond)) }
	var mutex sync.Mutex
	var result Result
	workers, ctx := errgroup.WithContext(ctx)
	for range connections {
		workers.Go(func() error {
			times, err := answerDue(ctx, target, due, dueAt, body)
			mutex.Lock()
			defer mutex.Unlock()
			result.Times = append(result.Times, times...)
			return err
		})
	}
	workers.Go(func() error {
		defer close(due)
		return tick(ctx, total, dueAt, due)
	})
	err := workers.Wait()
	result.Took = time.Since(began)
	return result, err
}

// tick lets each request go at its time.
func tick(ctx context.Context, total int, dueAt func(int) time.Time, due chan<- int) error {
	for n := range total {
		timer := time.NewTimer(time.Until(dueAt(n)))
		select {
		case <-timer.C:
			due <- n
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return nil
}

// answerDue sends what is due on one connection.
func answerDue(ctx context.Context, target Target, due <-chan int, dueAt func(int) time.Time, body func(int) ([]byte, Check)) (Times, error) {
	conn, err := DialHTTP1(ctx, target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	var times Times
	for n := range due {
		content, check := body(n)
		answer, err := conn.Do(conn.Request(content))
		if err != nil {
			return times, err
		}
		times = append(times, time.Since(dueAt(n)))
		if err := check(answer); err != nil {
			return times, err
		}
	}
	return times, nil
}

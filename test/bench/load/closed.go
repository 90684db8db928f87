package load

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Result is what a round of load measured.
type Result struct {
	Times Times         // of each answer that came
	Took  time.Duration // of the round
}

// PerSecond is the throughput.
func (r *Result) PerSecond() float64 { return float64(len(r.Times)) / r.Took.Seconds() }

// Check holds an answer against what is right. It is called by many goroutines.
type Check func(answer []byte) error

// ClosedHTTP1 sends one body again and again on so many connections, for a while.
func ClosedHTTP1(ctx context.Context, target Target, body []byte, connections int, round time.Duration, check Check) (Result, error) {
	open := make([]*HTTP1, connections)
	for i := range open {
		conn, err := DialHTTP1(ctx, target)
		if err != nil {
			return Result{}, err
		}
		defer func() { _ = conn.Close() }()
		open[i] = conn
	}
	began := time.Now()
	var mutex sync.Mutex
	var result Result
	var workers errgroup.Group
	for _, conn := range open {
		workers.Go(func() error {
			times, err := conn.repeat(conn.Request(body), began.Add(round), check)
			mutex.Lock()
			defer mutex.Unlock()
			result.Times = append(result.Times, times...)
			return err
		})
	}
	err := workers.Wait()
	result.Took = time.Since(began)
	return result, err
}

// repeat sends a request until the time is up.
func (c *HTTP1) repeat(request []byte, until time.Time, check Check) (Times, error) {
	var times Times
	for {
		sent := time.Now()
		if !sent.Before(until) {
			return times, nil
		}
		answer, err := c.Do(request)
		if err != nil {
			return times, err
		}
		times = append(times, time.Since(sent))
		if err := check(answer); err != nil {
			return times, err
		}
	}
}

// ClosedHTTP2 sends one body again and again on so many streams of one connection.
func ClosedHTTP2(ctx context.Context, target Target, body []byte, streams int, round time.Duration, check Check) (Result, error) {
	conn, err := DialHTTP2(ctx, target, body)
	if err != nil {
		return Result{}, err
	}
	defer func() { _ = conn.Close() }()
	began := time.Now()
	var result Result
	err = conn.Run(streams, began.Add(round), func(answer []byte, took time.Duration) error {
		result.Times = append(result.Times, took)
		return check(answer)
	})
	result.Took = time.Since(began)
	return result, err
}

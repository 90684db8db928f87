package certs

import (
	"context"
	"log/slog"
	"time"
)

// pollInterval is how often files are read. A kubelet takes up to a minute to
// bring a changed Secret to its volume, so a second more is nothing.
const pollInterval = time.Second

// poll calls look at once and then at every interval, until ctx is done.
func poll(ctx context.Context, interval time.Duration, look func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		look()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// failureLog logs each reason of failure once until things are well again, so
// that a broken file doesn't fill the log at every poll. For one goroutine.
type failureLog struct {
	log  *slog.Logger
	seen map[string]struct{}
}

// report logs err under msg if its text is new; nil forgets what was logged.
func (f *failureLog) report(msg string, err error) {
	if err == nil {
		f.seen = nil
		return
	}
	if _, ok := f.seen[err.Error()]; ok {
		return
	}
	if f.seen == nil {
		f.seen = map[string]struct{}{}
	}
	f.seen[err.Error()] = struct{}{}
	f.log.Error(msg, "error", err)
}

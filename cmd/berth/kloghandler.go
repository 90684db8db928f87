package main

import (
	"context"
	"log/slog"
)

// unhandled is the logger by which client-go tells, at every retry, of errors
// that its callers hear of anyway.
const unhandled = "UnhandledError"

// klogHandler takes what client-go logs through klog. Errors of retries go to
// debug: the informers' own log tells of a failure once, and of its end.
type klogHandler struct{ slog.Handler }

// Handle logs a record, at debug if it is one of a retry.
func (h klogHandler) Handle(ctx context.Context, r slog.Record) error {
	retry := false
	r.Attrs(func(a slog.Attr) bool {
		retry = a.Key == "logger" && a.Value.String() == unhandled
		return !retry
	})
	if retry {
		if !h.Enabled(ctx, slog.LevelDebug) {
			return nil
		}
		r.Level = slog.LevelDebug
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs is part of [slog.Handler].
func (h klogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return klogHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup is part of [slog.Handler].
func (h klogHandler) WithGroup(name string) slog.Handler {
	return klogHandler{h.Handler.WithGroup(name)}
}

package main

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

const (
	flagFormat = "log-format"
	flagLevel  = "log-level"
)

// logFlags say how to log.
type logFlags struct {
	format string
	level  string
}

func newLogFlags() *logFlags { return &logFlags{format: "text", level: "info"} }

func (f *logFlags) addTo(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, flagFormat, f.format, "`FORMAT` of log records, on standard error: text or json")
	flags.StringVar(&f.level, flagLevel, f.level, "least `LEVEL` that is logged: debug, info, warn or error. Refusals are logged at info, other decisions at debug")
}

// validate tells what is wrong.
func (f *logFlags) validate() []error {
	var errs []error
	if f.format != "text" && f.format != "json" {
		errs = append(errs, flagError(flagFormat, "%q must be text or json", f.format))
	}
	if _, ok := levels()[f.level]; !ok {
		errs = append(errs, flagError(flagLevel, "%q must be debug, info, warn or error", f.level))
	}
	return errs
}

func levels() map[string]slog.Level {
	return map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
}

// logger is a logger to out; the flags are valid.
func (f *logFlags) logger(out io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: levels()[f.level]}
	if f.format == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

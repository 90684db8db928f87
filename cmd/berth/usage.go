package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// The exit codes of a failure.
const (
	exitFailure = 1 // something went wrong
	exitUsage   = 2 // the command line is wrong
)

// usageError is everything that is wrong with a command line.
type usageError []error

// Error joins the errors, one a line.
func (e usageError) Error() string { return errors.Join(e...).Error() }

// report prints what went wrong, one line each, and gives the exit code.
func report(stderr io.Writer, command string, err error) int {
	var usage usageError
	if !errors.As(err, &usage) {
		_, _ = fmt.Fprintf(stderr, "%s: %s\n", command, oneLine(err))
		return exitFailure
	}
	for _, e := range usage {
		_, _ = fmt.Fprintf(stderr, "%s: %s\n", command, oneLine(e))
	}
	_, _ = fmt.Fprintf(stderr, "See '%s --help'.\n", command)
	return exitUsage
}

// oneLine is an error's text on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// flagError is what is wrong with a flag.
func flagError(flag, format string, args ...any) error {
	return fmt.Errorf("--"+flag+": "+format, args...)
}

// badValues gathers the flag values that can't be parsed, so that they are
// told together with everything else that is wrong; pflag stops at the first.
type badValues struct {
	errs []error
}

// watch makes the flags of a set report their bad values here.
func (b *badValues) watch(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.DefValue == "[]" {
			f.DefValue = "" // help would print it, not knowing the type any more
		}
		f.Value = &watchedValue{Value: f.Value, flag: f.Name, bad: b}
	})
}

// watchedValue is a flag's value that never fails to be set.
type watchedValue struct {
	pflag.Value
	flag string
	bad  *badValues
}

// Set sets the value, or notes why it can't be.
func (v *watchedValue) Set(text string) error {
	if v.Value.Set(text) == nil {
		return nil
	}
	wants := map[string]string{
		"bool": "true or false", "duration": "a duration, for example 5s", "int64": "a whole number",
	}[v.Type()]
	if wants == "" {
		wants = v.Type()
	}
	v.bad.errs = append(v.bad.errs, flagError(v.flag, "%q must be %s", text, wants))
	return nil
}

// IsBoolFlag tells pflag whether the flag may stand without a value.
func (v *watchedValue) IsBoolFlag() bool { return v.Type() == "bool" }

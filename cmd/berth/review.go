package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"berth.dev/berth/webhook/claim"
)

// The exit codes of review besides 0.
const (
	exitRefused  = 1 // something is refused
	exitCantTell = 2 // something could not be judged; wins over exitRefused
)

// newReview is the subcommand review.
func newReview() *cobra.Command {
	o := newReviewOptions()
	cmd := &cobra.Command{
		Use:   "review -f FILE [flags]",
		Short: "Tell what the webhook would say to manifests",
		Long: `Review decides about manifests, or AdmissionReviews, as the webhook would when
they are created. It changes nothing. Nodes, PVCs, PVs, StorageClasses and
Namespaces among the manifests count as applied; a Namespace that is not known,
as opted in.

Exit codes: 0 if all is admitted, 1 if something is refused, 2 if something
could not be judged or the command line is wrong.`,
		DisableFlagsInUseLine: true,
		Args:                  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rules, errs := o.validate()
			if len(errs) > 0 {
				return usageError(errs)
			}
			return o.run(cmd.Context(), rules, streamsOf(cmd))
		},
	}
	o.addFlags(cmd)
	return cmd
}

// streams are where a command reads and writes.
type streams struct {
	command  string // as people call it: berth review
	in       io.Reader
	out, err io.Writer
}

func streamsOf(cmd *cobra.Command) streams {
	return streams{cmd.CommandPath(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()}
}

// say writes a line about the work to standard error.
func (s streams) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.err, s.command+": "+format+"\n", args...)
}

// complain says what went wrong, one line each.
func (s streams) complain(errs []error) {
	for _, err := range errs {
		s.say("%s", oneLine(err))
	}
}

// fail is complain for a command that can't go on.
func (s streams) fail(code exitError, errs ...error) error {
	s.complain(errs)
	return code
}

// run judges everything that can be, and says what could not.
func (o *reviewOptions) run(ctx context.Context, rules *claim.Rules, io streams) error {
	manifests, errs := loadManifests(o.filenames, o.recursive, io.in)
	var results []*reviewResult
	if len(manifests) > 0 {
		more, wrong := o.judge(ctx, rules, manifests)
		results, errs = more, append(errs, wrong...)
	}
	if err := reviewPrinters()[o.output](io.out, results); err != nil {
		errs = append(errs, fmt.Errorf("write the results: %w", err))
	}
	io.complain(errs)
	return exitOf(results, errs)
}

// judge decides about each object, node-local PVCs first: what Berth would
// write into them counts for the others.
func (o *reviewOptions) judge(ctx context.Context, rules *claim.Rules, manifests []*manifest) ([]*reviewResult, []error) {
	w, errs := o.openWorld(ctx, rules, manifests)
	if w == nil {
		return nil, errs
	}
	results := make([]*reviewResult, len(manifests))
	for _, pvcs := range []bool{true, false} {
		for i, m := range manifests {
			if m.isPVC() != pvcs {
				continue
			}
			result, err := w.judge(ctx, m)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", m.source, err))
				continue
			}
			results[i] = result
		}
	}
	return present(results), errs
}

func present(results []*reviewResult) []*reviewResult {
	out := make([]*reviewResult, 0, len(results))
	for _, r := range results {
		if r != nil {
			out = append(out, r)
		}
	}
	return out
}

// exitOf is the exit code that results and errors make, as an error; nil for 0.
func exitOf(results []*reviewResult, errs []error) error {
	code := 0
	for _, r := range results {
		switch {
		case r.unsure:
			code = exitCantTell
		case r.Verdict == verdictRefused:
			code = max(code, exitRefused)
		}
	}
	if len(errs) > 0 {
		code = exitCantTell
	}
	if code == 0 {
		return nil
	}
	return exitError(code)
}

// exitError ends a command that has said everything itself, with this code.
type exitError int

// Error names the code; nobody prints it.
func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

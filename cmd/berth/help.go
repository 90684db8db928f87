package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpColumns is how wide help is: it fits the narrowest terminal.
const helpColumns = 80

// section is a group of flags under a title of its own in the help.
type section struct {
	title string
	flags *pflag.FlagSet
}

// newSection is a section whose flags stay in the order in which they are added.
func newSection(title string, add ...func(*pflag.FlagSet)) section {
	flags := pflag.NewFlagSet(title, pflag.ContinueOnError)
	flags.SortFlags = false
	for _, a := range add {
		a(flags)
	}
	return section{title, flags}
}

// addSections gives a command its flags, and help that shows them by section.
func addSections(cmd *cobra.Command, sections ...section) {
	for _, s := range sections {
		cmd.Flags().AddFlagSet(s.flags)
	}
	for flag, values := range map[string][]string{
		flagPreset:  {"gkm"},
		flagMissing: {"auto", "pend", "deny"},
		flagFormat:  {"text", "json"},
		flagLevel:   {"debug", "info", "warn", "error"},
	} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // the flag is there
		}
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { writeHelp(cmd.OutOrStdout(), cmd, sections) })
}

func writeHelp(out io.Writer, cmd *cobra.Command, sections []section) {
	_, _ = fmt.Fprintf(out, "%s\n\nUsage:\n  %s\n", cmd.Long, cmd.UseLine())
	for _, s := range sections {
		_, _ = fmt.Fprintf(out, "\n%s:\n%s", s.title, s.flags.FlagUsagesWrapped(helpColumns))
	}
}

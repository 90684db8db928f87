package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// execute runs the command line and gives the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot() //nolint:contextcheck // cobra hands the context to RunE
	args = asCalled(root, os.Args[0], args)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		unquoteUsages(root)
	}
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var exit exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	}
	return report(stderr, cmd.CommandPath(), err)
}

// newRoot is the command berth with its subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "One claim name in the pod, one PVC per node in the cluster",
		Long: `Berth is an admission webhook. It resolves the node that a pod is pinned to, and
rewrites the pod's node-local claims to that node's PersistentVolumeClaims.`,
		Version:       buildVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newServe(), newReview(), newCoverage(), newExpand())
	return root
}

// noArgs refuses arguments, which no command of Berth's takes.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return usageError{fmt.Errorf("unknown command %q", args[0])}
	}
	return usageError{fmt.Errorf("unexpected argument %q", args[0])}
}

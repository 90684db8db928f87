package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	// pluginName is the program's name as a plugin of kubectl's, which kubectl
	// runs as "kubectl berth". One that starts with kubectl- on the PATH is a plugin.
	pluginName = "kubectl-berth"
	// completerName is the name under which kubectl asks a plugin what may follow
	// the arguments (the handbook of kubectl's plugins; cobra speaks the same).
	completerName = "kubectl_complete-berth"
)

// asCalled fits commands and messages to the name by which the program was
// called, and gives the arguments that are meant. A plugin is for people, who
// serve nothing, and a shell completes it through the completer alone.
func asCalled(root *cobra.Command, program string, args []string) []string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if name != pluginName && name != completerName {
		return args
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl berth"}
	root.CompletionOptions.DisableDefaultCmd = true
	for _, cmd := range root.Commands() {
		cmd.Hidden = cmd.Hidden || cmd.Name() == "serve"
	}
	if name == completerName {
		return append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return args
}

// unquoteUsages takes off the backquotes by which help finds the name of a flag's
// value: a shell would show them.
func unquoteUsages(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { _, flag.Usage = pflag.UnquoteUsage(flag) })
	for _, sub := range cmd.Commands() {
		unquoteUsages(sub)
	}
}

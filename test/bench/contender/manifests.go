package contender

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed manifests/*.yaml limits/*.txt
var files embed.FS

// Manifests are the documents of the policy of a contender that runs on policies
// (cel, kyverno), for one namespace.
func Manifests(name, namespace string) ([]string, error) {
	text, err := files.ReadFile("manifests/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("read the policy of %s: %w", name, err)
	}
	return strings.Split(strings.ReplaceAll(string(text), "NAMESPACE", namespace), "\n---\n"), nil
}

// Limits are what a contender can't do, a sentence each; none for a contender that
// decides nothing.
func Limits(name string) []string {
	text, err := files.ReadFile("limits/" + name + ".txt")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

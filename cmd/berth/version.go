package main

import (
	"runtime"
	"runtime/debug"
)

// version is set at build time: go build -ldflags "-X main.version=v1.2.3".
var version string

// buildVersion is the version for people, and the Go it was built with.
func buildVersion() string { return berthVersion() + " (" + runtime.Version() + ")" }

// berthVersion is the version set at build time, else what Go recorded.
func berthVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return recordedVersion(info)
}

// recordedVersion is the module's version, or of a development build the commit.
func recordedVersion(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value
		}
	}
	return "devel"
}

package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRecordedVersion(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}
	cases := map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"an installed module has a version":   {debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		"a development build has its commit":  {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: commit}, "devel-abc"},
		"a build outside a checkout is devel": {debug.BuildInfo{}, "devel"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, recordedVersion(&tc.info)) })
	}
	assert.Contains(t, buildVersion(), runtime.Version())
}

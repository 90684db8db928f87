package main

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGarbagePercent(t *testing.T) {
	for what, c := range map[string]struct {
		live uint64
		want int
	}{
		"before anything was collected, a bounded one": {0, 400},
		"a small heap may grow by 32 MiB":              {16 << 20, 200},
		"one as large as that by its own size":         {32 << 20, 100},
		"and a large one, too":                         {1 << 30, 100},
	} {
		t.Run(what, func(t *testing.T) { assert.Equal(t, c.want, garbagePercent(c.live)) })
	}
}

func TestGarbageHasRoomAsTheHeapGrowsAndShrinks(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Cleanup(func() { debug.SetGCPercent(usualGarbage) })
	percent := func() uint64 { return runtimeMetric("/gc/gogc:percent") }
	giveGarbageRoom()
	alive := make([]byte, 8*garbageRoom)
	runtime.GC()
	require.Eventually(t, func() bool { return percent() == usualGarbage }, waitFor, tick, "a large heap")
	runtime.KeepAlive(alive)
	require.Eventually(t, func() bool { runtime.GC(); return percent() > usualGarbage }, waitFor, tick, "a small heap")
}

func TestServeGivesGarbageRoomUnlessGOGCIsSet(t *testing.T) {
	for what, c := range map[string]struct{ gogc, want string }{
		"by default there is more than usual": {"", "[2-4][0-9][0-9]"},
		"whoever sets GOGC gets that":         {"50", "50"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Setenv("GOGC", c.gogc)
			p := serve(t, "--cluster-file="+clusterFile(t))
			_, text := p.get(t, "/metrics")
			assert.Regexp(t, `(?m)^go_gc_gogc_percent `+c.want+`$`, text)
		})
	}
}

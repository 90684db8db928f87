package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// garbageRoom is how many bytes of garbage may gather, at least, before they are
	// collected. By default as many as are alive do, which in a small cluster are few:
	// a tenth of the work of Berth would be to mark the same objects again and again.
	garbageRoom = 32 << 20
	// leastAlive is the size that a heap is taken for, at least: before the first
	// collection nobody knows.
	leastAlive = 8 << 20
	// usualGarbage is the runtime's default: as much garbage as is alive, in percent.
	usualGarbage = 100
)

// giveGarbageRoom sets, after each collection, how much garbage may gather until the
// next. A process with GOGC set is left alone, and GOMEMLIMIT goes on to bound the whole.
func giveGarbageRoom() {
	if os.Getenv("GOGC") == "" {
		afterCollection(0)
	}
}

// afterCollection follows up a collection, and arranges to be called after the next
// one: it finds the mark that nobody holds.
func afterCollection(last int) {
	percent := garbagePercent(runtimeMetric("/gc/heap/live:bytes"))
	if percent != last {
		debug.SetGCPercent(percent)
	}
	type mark struct{ _ [32]byte } // too large for the allocator to put it beside something that lives
	runtime.AddCleanup(new(mark), afterCollection, percent)
}

// garbagePercent is how much garbage may gather where so many bytes are alive, in
// percent of them.
func garbagePercent(live uint64) int {
	return max(usualGarbage, int(garbageRoom*100/max(live, leastAlive)))
}

// runtimeMetric is the value of one of the runtime's own metrics, a whole number.
func runtimeMetric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

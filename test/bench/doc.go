// Package bench measures Berth against other ways to do its job, and against the
// least that any way must cost. Its benchmarks go from bytes to bytes, and its test
// holds that all contenders do the job on the same reviews: only then is it fair to
// compare them. The program cmd/bench runs these benchmarks and all other parts,
// cmd/report makes the table and the plot of what they kept.
package bench

package result

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func someMachine() Machine { return Machine{CPU: "A CPU", Cores: 2, OS: "linux/amd64", Go: "go1.26"} }

func TestSummaryIsTheMiddleAndTheSpread(t *testing.T) {
	cases := map[string]struct {
		values         []float64
		median, spread float64
	}{
		"no values":                         {nil, 0, 0},
		"one value does not spread":         {[]float64{3}, 3, 0},
		"an even number has a middle":       {[]float64{4, 1, 2, 3}, 2.5, 0.3},
		"an outlier does not move them far": {[]float64{10, 11, 9, 10, 1000}, 10, 0.05},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := Summarize(tc.values)
			assert.Equal(t, len(tc.values), s.N)
			assert.InDelta(t, tc.median, s.Median, 1e-9)
			assert.InDelta(t, tc.spread, s.Spread(), 1e-9)
		})
	}
}

func TestWhatIsRecordedIsRead(t *testing.T) {
	folder := t.TempDir()
	recorder, err := Create(folder, "api", someMachine())
	require.NoError(t, err)
	sample := Sample{Case: "pods", Contender: "berth", Round: 2, Values: map[string]float64{"pods/s": 12.5}}
	require.NoError(t, recorder.Record(sample))
	require.NoError(t, recorder.Close())
	machine, samples, err := Read(folder, "api")
	require.NoError(t, err)
	assert.Equal(t, someMachine(), machine)
	assert.Equal(t, []Sample{sample}, samples)
	_, _, err = Read(folder, "https")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestBenchmarksAreRead(t *testing.T) {
	folder := t.TempDir()
	text := someMachine().Header() + `goos: linux
BenchmarkBytes/review=bare-pod/contender=berth-handler-2   100   4000 ns/op   2.5 MB/s   512 B/op   7 allocs/op
BenchmarkBytes/review=bare-pod/contender=berth-handler-2   100   6000 ns/op   2.5 MB/s   512 B/op   7 allocs/op
PASS
`
	require.NoError(t, os.WriteFile(BenchmarkFile(folder, "bytes"), []byte(text), 0o600))
	machine, samples, err := ReadBenchmarks(folder, "bytes")
	require.NoError(t, err)
	assert.Equal(t, someMachine(), machine)
	require.Len(t, samples, 2)
	assert.Equal(t, 2, samples[1].Round)
	assert.InDelta(t, 5000, Of(samples, "review=bare-pod", "berth-handler", "ns/op").Median, 1e-9)
	assert.Zero(t, Of(samples, "review=bare-pod", "berth", "ns/op").N)
}

func TestABrokenBenchmarkLineIsAnError(t *testing.T) {
	for name, line := range map[string]string{
		"no contender": "BenchmarkBytes/review=bare-pod-2 100 4000 ns/op",
		"no number":    "BenchmarkBytes/review=a/contender=berth-2 100 many ns/op",
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.WriteFile(BenchmarkFile(folder, "bytes"), []byte(line), 0o600))
			_, _, err := ReadBenchmarks(folder, "bytes")
			assert.Error(t, err)
		})
	}
}

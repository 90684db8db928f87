package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Sample is what one round measured of one contender.
type Sample struct {
	Case      string             `json:"case"` // what was done
	Contender string             `json:"contender"`
	Round     int                `json:"round"`
	Values    map[string]float64 `json:"values"` // by unit, as benchstat has them: "req/s", "p50-s", "B-resident"
}

// line is one line of a raw file: the machine first, then samples.
type line struct {
	Machine *Machine `json:"machine,omitempty"`
	*Sample
}

// Recorder writes a raw file. It is safe for concurrent use.
type Recorder struct {
	mutex sync.Mutex
	file  *os.File
}

// Create begins the raw file of a part anew.
func Create(folder, part string, machine Machine) (*Recorder, error) {
	file, err := os.Create(path(folder, part))
	if err != nil {
		return nil, fmt.Errorf("create the results of %s: %w", part, err)
	}
	r := &Recorder{file: file}
	return r, r.write(line{Machine: &machine})
}

// Record writes a sample.
func (r *Recorder) Record(s Sample) error { return r.write(line{Sample: &s}) }

func (r *Recorder) write(l line) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	text, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode a result: %w", err)
	}
	if _, err := r.file.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("keep a result: %w", err)
	}
	return nil
}

// Close closes the file.
func (r *Recorder) Close() error { return r.file.Close() }

// Read reads the raw file of a part. A part that was not run is an error that
// os.ErrNotExist is in.
func Read(folder, part string) (Machine, []Sample, error) {
	file, err := os.Open(path(folder, part))
	if err != nil {
		return Machine{}, nil, fmt.Errorf("read the results of %s: %w", part, err)
	}
	defer func() { _ = file.Close() }()
	var machine Machine
	var samples []Sample
	for decoder := json.NewDecoder(file); ; {
		var l line
		if err := decoder.Decode(&l); errors.Is(err, io.EOF) {
			return machine, samples, nil
		} else if err != nil {
			return machine, nil, fmt.Errorf("read the results of %s: %w", part, err)
		}
		if l.Machine != nil {
			machine = *l.Machine
		} else if l.Sample != nil {
			samples = append(samples, *l.Sample)
		}
	}
}

func path(folder, part string) string { return filepath.Join(folder, part+".jsonl") }

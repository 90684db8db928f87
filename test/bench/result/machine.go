package result

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine is what the figures were measured on.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	OS    string `json:"os"`
	Go    string `json:"go"`
}

// ThisMachine is the machine that this program runs on.
func ThisMachine() (Machine, error) {
	m := Machine{Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m, fmt.Errorf("read the CPU's model: %w", err)
	}
	for line := range bytes.Lines(text) {
		key, value, _ := strings.Cut(string(line), ":")
		if strings.TrimSpace(key) == "model name" {
			m.CPU = strings.TrimSpace(value)
			break
		}
	}
	return m, nil
}

// String is the machine for people.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %s, %s", m.CPU, m.Cores, m.OS, m.Go)
}

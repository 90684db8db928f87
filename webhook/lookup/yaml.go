package lookup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"sigs.k8s.io/yaml"
)

// Documents gives the values of a YAML or JSON file as JSON, one by one: of
// several YAML documents, and of several JSON values one after the other. A
// document that can't be read comes as an error and does not hide the rest.
func Documents(data []byte) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for _, chunk := range chunks(data) {
			values, err := jsonValues(chunk)
			for _, raw := range values {
				if !yield(raw, nil) {
					return
				}
			}
			if err != nil && !yield(nil, err) {
				return
			}
		}
	}
}

// chunks cuts a file at its YAML document markers, "---" and "...", which
// stand at the start of a line only. What follows "---" on its line belongs to
// the document.
func chunks(data []byte) [][]byte {
	var out [][]byte
	var chunk []byte
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		if marker, rest := splitMarker(line); marker {
			out = append(out, chunk)
			chunk = bytes.Clone(bytes.TrimLeft(rest, " \t"))
			continue
		}
		chunk = append(chunk, line...)
	}
	return append(out, chunk)
}

func splitMarker(line []byte) (bool, []byte) {
	for _, marker := range []string{"---", "..."} {
		if rest, ok := bytes.CutPrefix(line, []byte(marker)); ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0) {
			return true, rest
		}
	}
	return false, nil
}

// jsonValues gives the objects of one chunk: none if it has nothing but
// comments, and several only if they are JSON. With an error come those before it.
func jsonValues(chunk []byte) ([]json.RawMessage, error) {
	if bytes.HasPrefix(bytes.TrimSpace(chunk), []byte("{")) {
		if values, err := jsonStream(chunk); err == nil || len(values) > 0 {
			return values, err
		} // else it may be a YAML mapping in braces
	}
	raw, err := yaml.YAMLToJSONStrict(chunk)
	if err != nil {
		return nil, fmt.Errorf("not YAML: %s", strings.TrimPrefix(oneLine(err), "yaml: "))
	}
	if string(raw) == "null" {
		return nil, nil
	}
	return []json.RawMessage{raw}, nil
}

func jsonStream(chunk []byte) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for decoder := json.NewDecoder(bytes.NewReader(chunk)); decoder.More(); {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return out, fmt.Errorf("not JSON: %w", err)
		}
		out = append(out, raw)
	}
	return out, nil
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// readManifests gives the objects of a YAML or JSON file: of several YAML
// documents, of several JSON values one after the other, and of Lists. What
// can't be read is told, one error each, and does not hide the rest.
func readManifests(data []byte, file string) (out []*manifest, errs []error) {
	n := 0
	for _, chunk := range splitYAML(data) {
		values, err := decodeChunk(chunk)
		for _, raw := range values {
			n++
			more, wrong := newManifests(raw, fmt.Sprintf("%s:%d", file, n))
			out, errs = append(out, more...), append(errs, wrong...)
		}
		if err != nil {
			n++
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, n, err))
		}
	}
	return out, errs
}

// splitYAML cuts a file at its document markers, which stand at the start of a
// line. What follows "---" on its line belongs to the document.
func splitYAML(data []byte) [][]byte {
	var out [][]byte
	var chunk []byte
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		if rest, ok := afterMarker(line); ok {
			out = append(out, chunk)
			chunk = bytes.Clone(bytes.TrimLeft(rest, " \t"))
			continue
		}
		chunk = append(chunk, line...)
	}
	return append(out, chunk)
}

// afterMarker is what follows a document marker, if the line is one.
func afterMarker(line []byte) ([]byte, bool) {
	for _, marker := range []string{"---", "..."} {
		rest, ok := bytes.CutPrefix(line, []byte(marker))
		if ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0) {
			return rest, true
		}
	}
	return nil, false
}

// decodeChunk gives the values of one chunk as JSON: none if there is nothing
// but comments, several only if they are JSON. With an error come those before it.
func decodeChunk(chunk []byte) ([]json.RawMessage, error) {
	if bytes.HasPrefix(bytes.TrimSpace(chunk), []byte("{")) {
		if values, err := decodeJSON(chunk); err == nil || len(values) > 0 {
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

func decodeJSON(chunk []byte) ([]json.RawMessage, error) {
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

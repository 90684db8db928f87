package lookup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// document is one object of a file, as JSON.
type document struct {
	metav1.TypeMeta
	raw   json.RawMessage
	place string // for people, for example "document 2, item 3"
}

// documents gives the objects of a YAML or JSON file: of several YAML
// documents, of several JSON values one after the other, and of Lists.
func documents(data []byte) ([]document, error) {
	var out []document
	n := 0
	for _, chunk := range chunks(data) {
		values, err := jsonValues(chunk)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n+len(values)+1, err)
		}
		for _, raw := range values {
			n++
			objects, err := expand(raw, metav1.TypeMeta{}, fmt.Sprintf("document %d", n))
			if err != nil {
				return nil, err
			}
			out = append(out, objects...)
		}
	}
	return out, nil
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
			chunk = append([]byte{}, rest...)
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

// listHead is what tells a List from other objects.
type listHead struct {
	metav1.TypeMeta `json:",inline"`
	Items           *json.RawMessage `json:"items"`
}

// expand gives an object, or the items of a List: of kind List, or of a kind
// such as NodeList, whose items may leave out their own.
func expand(raw json.RawMessage, inherited metav1.TypeMeta, place string) ([]document, error) {
	var head listHead
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil, fmt.Errorf("%s: not a Kubernetes object", place)
	}
	if err := unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("%s: not a Kubernetes object: %s", place, oneLine(err))
	}
	if head.Kind == "" && head.APIVersion == "" {
		head.TypeMeta = inherited
	}
	if head.Kind == "" {
		return nil, fmt.Errorf("%s: not a Kubernetes object: it has no kind", place)
	}
	of, isList := strings.CutSuffix(head.Kind, "List")
	if !isList || of != "" && knownVersion(of) == "" && head.Items == nil {
		return []document{{TypeMeta: head.TypeMeta, raw: raw, place: place}}, nil
	}
	var items []json.RawMessage
	if head.Items != nil {
		if err := unmarshal(*head.Items, &items); err != nil {
			return nil, fmt.Errorf("%s: %s has items that are no array", place, head.Kind)
		}
	}
	var itemType metav1.TypeMeta
	if of != "" {
		itemType = metav1.TypeMeta{APIVersion: head.APIVersion, Kind: of}
	}
	var out []document
	for i, item := range items {
		objects, err := expand(item, itemType, fmt.Sprintf("%s, item %d", place, i+1))
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, nil
}

package lookup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	for raw, err := range Documents(data) {
		n++
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		objects, err := expand(raw, metav1.TypeMeta{}, fmt.Sprintf("document %d", n))
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
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

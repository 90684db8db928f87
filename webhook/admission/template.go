package admission

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// template is one pod template of a workload.
type template struct {
	path string // where it stands, for people: spec.template
	raw  []byte
	pod  pod // its metadata and spec
}

// findTemplates finds the pod templates at a path. What is not there, or is
// null, is no template: a Rollout may refer to a Deployment's.
func findTemplates(object []byte, path string) ([]template, error) {
	found := []template{{raw: object}}
	for step := range strings.SplitSeq(path, ".") {
		var next []template
		for _, t := range found {
			below, err := t.step(step)
			if err != nil {
				return nil, err
			}
			next = append(next, below...)
		}
		found = next
	}
	for i := range found {
		if err := unmarshal(found[i].raw, &found[i].pod); err != nil {
			return nil, fmt.Errorf("%s: %w", found[i].path, err)
		}
	}
	return found, nil
}

// step goes one step down: to a field, or with * to each item of a list.
func (t template) step(name string) ([]template, error) {
	if name == "*" {
		var items []json.RawMessage
		if err := unmarshal(t.raw, &items); err != nil {
			return nil, fmt.Errorf("%s: %w", t.path, err)
		}
		var out []template
		for i, raw := range items {
			if !isNull(raw) {
				out = append(out, template{path: fmt.Sprintf("%s[%d]", t.path, i), raw: raw})
			}
		}
		return out, nil
	}
	var fields map[string]json.RawMessage
	if err := unmarshal(t.raw, &fields); err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(t.path, "the object"), err)
	}
	if isNull(fields[name]) {
		return nil, nil
	}
	return []template{{path: strings.TrimPrefix(t.path+"."+name, "."), raw: fields[name]}}, nil
}

func isNull(raw []byte) bool { return len(raw) == 0 || bytes.Equal(raw, []byte("null")) }

// sameTemplates tells whether a change leaves all templates as they are.
func sameTemplates(a, b []template) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].path != b[i].path || !bytes.Equal(a[i].raw, b[i].raw) {
			return false
		}
	}
	return true
}

package admission

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/admission/scan"
)

// template is one pod template of a workload.
type template struct {
	path        string // where it stands, for people: spec.template
	raw         []byte
	pod         *pod // its metadata and spec
	tolerations []corev1.Toleration
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
		if err := found[i].decode(); err != nil {
			return nil, fmt.Errorf("%s: %w", found[i].path, err)
		}
	}
	return found, nil
}

// step goes one step down: to a field, or with * to each item of a list.
func (t template) step(name string) ([]template, error) {
	s := scan.New(t.raw)
	var below []template
	if name == "*" {
		below = t.items(&s)
	} else {
		below = t.field(&s, name)
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(t.path, "the object"), err)
	}
	return below, nil
}

func (t template) field(s *scan.Scanner, name string) []template {
	var found []template
	for s.Object(); s.Next(); {
		if string(s.Key()) != name {
			s.Skip()
			continue
		}
		s.Once(0)
		if raw := s.Raw(); !isNull(raw) {
			found = append(found, template{path: strings.TrimPrefix(t.path+"."+name, "."), raw: raw})
		}
	}
	return found
}

func (t template) items(s *scan.Scanner) []template {
	var found []template
	s.Array()
	for i := 0; s.Item(); i++ {
		if raw := s.Raw(); !isNull(raw) {
			found = append(found, template{path: fmt.Sprintf("%s[%d]", t.path, i), raw: raw})
		}
	}
	return found
}

// decode reads the template as the pod that it will be.
func (t *template) decode() (err error) {
	if t.pod, err = decodePod(t.raw); err != nil || t.pod.spec.tolerations == nil {
		return err
	}
	return unmarshal(t.pod.spec.tolerations, &t.tolerations)
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

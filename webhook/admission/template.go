package admission

import (
	"bytes"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/admission/scan"
)

// template is one pod template of a workload.
type template struct {
	path string // where it stands, for people: spec.template
	raw  []byte
	pod  *pod // its metadata and spec
	// tolerations are read of those that have a pod on every node: nobody else asks.
	tolerations []corev1.Toleration
}

// findTemplates finds the pod templates at a path: field names, and * for each item of
// a list. What is not there, or is null, is no template: a Rollout may refer to a
// Deployment's.
func findTemplates(k workloadKind, object []byte, path string) ([]template, error) {
	s := scan.New(object)
	var found []template
	descend(&s, "", path, func(t template) { found = append(found, t) })
	if err := s.Err(); err != nil {
		return nil, err
	}
	for i := range found {
		if err := found[i].decode(k); err != nil {
			return nil, fmt.Errorf("%s: %w", found[i].path, err)
		}
	}
	return found, nil
}

// descend goes down from the value at hand, which stands at a place, and gives what
// it finds at the end of the path.
func descend(s *scan.Scanner, place, path string, found func(template)) {
	step, rest, _ := strings.Cut(path, ".")
	switch step {
	case "":
		if raw := s.Raw(); !isNull(raw) {
			found(template{path: place, raw: raw})
		}
	case "*":
		s.Array()
		for i := 0; s.Item(); i++ {
			descend(s, fmt.Sprintf("%s[%d]", place, i), rest, found)
		}
	default:
		for s.Object(); s.Next(); {
			if string(s.Key()) != step {
				s.Skip()
				continue
			}
			s.Once(0)
			descend(s, strings.TrimPrefix(place+"."+step, "."), rest, found)
		}
	}
}

// decode reads the template as the pod that it will be.
func (t *template) decode(k workloadKind) (err error) {
	t.pod, err = decodePod(t.raw)
	if err != nil || k.placing != onEveryNode || t.pod.spec.tolerations == nil {
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

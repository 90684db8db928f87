package admission

import (
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/admission/scan"
	"berth.dev/berth/webhook/claim"
)

// pod is what Berth reads of a Pod, or of a pod template.
type pod struct {
	kind     string
	metadata podMetadata
	spec     podSpec
}

type podMetadata struct {
	there              bool // metadata is an object
	annotated          bool // metadata.annotations is one
	deleting           bool // it has a deletionTimestamp
	name, generateName string
	annotations        []annotation // those that Berth knows
	owners             []ownerReference
}

type annotation struct{ key, value string }

type ownerReference struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller *bool  `json:"controller"`
}

type podSpec struct {
	nodeName     string
	nodeSelector map[string]string
	required     *corev1.NodeSelector // required node affinity
	volumes      []pvcVolume
	tolerations  []byte // raw: few read them
	hostNetwork  bool
}

// pvcVolume is a volume that names a PVC.
type pvcVolume struct {
	index           int // among all volumes of the pod
	name, claimName string
}

// decodePod reads a pod, or says in one line why it can't be read.
func decodePod(raw []byte) (*pod, error) {
	raw, err := theObject(raw)
	if err != nil {
		return nil, err
	}
	s, p := scan.New(raw), &pod{}
	p.readFrom(&s)
	s.End()
	return p, s.Err()
}

// readFrom reads the pod at hand and returns it as it stands; nil if it can't be read.
func (p *pod) readFrom(s *scan.Scanner) []byte {
	begin := s.Mark()
	for s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "kind":
			s.Once(0)
			p.kind = s.String()
		case "metadata":
			s.Once(1)
			p.metadata.read(s)
		case "spec":
			s.Once(2)
			p.spec.read(s)
		default:
			s.Skip()
		}
	}
	return s.Since(begin)
}

func (m *podMetadata) read(s *scan.Scanner) {
	for m.there = s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "name":
			s.Once(0)
			m.name = s.String()
		case "generateName":
			s.Once(1)
			m.generateName = s.String()
		case "annotations":
			s.Once(2)
			m.readAnnotations(s)
		case "deletionTimestamp":
			s.Once(4)
			m.deleting = !isNull(s.Raw())
		case "ownerReferences":
			s.Once(3)
			for s.Array(); s.Item(); {
				m.owners = append(m.owners, readOwner(s))
			}
		default:
			s.Skip()
		}
	}
}

// knownAnnotations are those that a decision may read.
var knownAnnotations = [...]string{mirrorAnnotation, claim.AnnNodeLocalClaims, claim.AnnRevision, claim.AnnFills, claim.AnnNodePVCs}

func (m *podMetadata) readAnnotations(s *scan.Scanner) {
	for m.annotated = s.Object(); s.Next(); {
		known := false
		for n, key := range knownAnnotations {
			if known = string(s.Key()) == key; known {
				s.Once(uint(n))
				m.annotations = append(m.annotations, annotation{key, s.String()})
				break
			}
		}
		if !known {
			s.SkipString()
		}
	}
}

func readOwner(s *scan.Scanner) ownerReference {
	var o ownerReference
	for s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "kind":
			s.Once(0)
			o.Kind = s.String()
		case "name":
			s.Once(1)
			o.Name = s.String()
		case "controller":
			s.Once(2)
			if s.Bool() {
				o.Controller = new(true)
			}
		default:
			s.Skip()
		}
	}
	return o
}

func (p *podSpec) read(s *scan.Scanner) {
	for s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "nodeName":
			s.Once(0)
			p.nodeName = s.String()
		case "nodeSelector":
			s.Once(1)
			p.readNodeSelector(s)
		case "affinity":
			s.Once(2)
			p.readAffinity(s)
		case "volumes":
			s.Once(3)
			p.readVolumes(s)
		case "tolerations":
			s.Once(4)
			p.tolerations = s.Raw()
		case "hostNetwork":
			s.Once(5)
			p.hostNetwork = s.Bool()
		default:
			s.Skip()
		}
	}
}

func (p *podSpec) readNodeSelector(s *scan.Scanner) {
	if s.Object() {
		p.nodeSelector = map[string]string{}
	}
	for s.Next() {
		key := string(s.Key())
		if _, there := p.nodeSelector[key]; there {
			s.Twice()
		}
		p.nodeSelector[key] = s.String()
	}
}

// readVolumes keeps the volumes that name a PVC.
func (p *podSpec) readVolumes(s *scan.Scanner) {
	s.Array()
	for i := 0; s.Item(); i++ {
		if v, ok := readVolume(s); ok {
			v.index = i
			p.volumes = append(p.volumes, v)
		}
	}
}

func readVolume(s *scan.Scanner) (v pvcVolume, namesPVC bool) {
	var name []byte
	for s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "name":
			s.Once(0)
			name = s.Bytes()
		case "persistentVolumeClaim":
			s.Once(1)
			for namesPVC = s.Object(); s.Next(); {
				if string(s.Key()) != "claimName" {
					s.Skip()
					continue
				}
				s.Once(0)
				v.claimName = s.String()
			}
		default:
			s.Skip()
		}
	}
	if namesPVC {
		v.name = string(name)
	}
	return v, namesPVC
}

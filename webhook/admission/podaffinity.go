package admission

import (
	corev1 "k8s.io/api/core/v1"

	"berth.dev/berth/webhook/admission/scan"
)

// readAffinity keeps the required node affinity.
func (p *podSpec) readAffinity(s *scan.Scanner) {
	for s.Object(); s.Next(); {
		if string(s.Key()) != "nodeAffinity" {
			s.Skip()
			continue
		}
		s.Once(0)
		for s.Object(); s.Next(); {
			if string(s.Key()) != "requiredDuringSchedulingIgnoredDuringExecution" {
				s.Skip()
				continue
			}
			s.Once(0)
			if s.Object() {
				p.required = &corev1.NodeSelector{}
			}
			readNodeSelectorTerms(s, p.required)
		}
	}
}

// readNodeSelectorTerms reads a NodeSelector that the scanner has gone into.
func readNodeSelectorTerms(s *scan.Scanner, into *corev1.NodeSelector) {
	for s.Next() {
		if string(s.Key()) != "nodeSelectorTerms" {
			s.Skip()
			continue
		}
		s.Once(0)
		for s.Array(); s.Item(); {
			into.NodeSelectorTerms = append(into.NodeSelectorTerms, readTerm(s))
		}
	}
}

func readTerm(s *scan.Scanner) corev1.NodeSelectorTerm {
	var t corev1.NodeSelectorTerm
	for s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "matchExpressions":
			s.Once(0)
			t.MatchExpressions = readRequirements(s)
		case "matchFields":
			s.Once(1)
			t.MatchFields = readRequirements(s)
		default:
			s.Skip()
		}
	}
	return t
}

func readRequirements(s *scan.Scanner) []corev1.NodeSelectorRequirement {
	var all []corev1.NodeSelectorRequirement
	for s.Array(); s.Item(); {
		all = append(all, readRequirement(s))
	}
	return all
}

func readRequirement(s *scan.Scanner) corev1.NodeSelectorRequirement {
	var q corev1.NodeSelectorRequirement
	for s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "key":
			s.Once(0)
			q.Key = s.String()
		case "operator":
			s.Once(1)
			q.Operator = corev1.NodeSelectorOperator(s.String())
		case "values":
			s.Once(2)
			for s.Array(); s.Item(); {
				q.Values = append(q.Values, s.String())
			}
		default:
			s.Skip()
		}
	}
	return q
}

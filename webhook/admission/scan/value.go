package scan

import (
	kjson "sigs.k8s.io/json"
)

// String is the string at hand; null is "".
func (s *Scanner) String() string {
	return word(s.Bytes())
}

// word is a string of bytes; those of nearly every pod need no copy.
func word(b []byte) string {
	switch string(b) {
	case "AdmissionReview":
		return "AdmissionReview"
	case "admission.k8s.io/v1":
		return "admission.k8s.io/v1"
	case "v1":
		return "v1"
	case "pods":
		return "pods"
	case "CREATE":
		return "CREATE"
	case "Pod":
		return "Pod"
	case "DaemonSet":
		return "DaemonSet"
	case "metadata.name":
		return "metadata.name"
	case "kubernetes.io/hostname":
		return "kubernetes.io/hostname"
	case "In":
		return "In"
	}
	return string(b)
}

// Bytes is the string at hand, unescaped; null is none. It is part of the text, or
// its own: either way it must not be changed.
func (s *Scanner) Bytes() []byte {
	switch c := s.kind(); {
	case s.err != nil:
		return nil
	case c == 'n':
		s.null()
		return nil
	case c != '"':
		s.wrongType()
		return nil
	}
	begin := s.at + 1
	for i := begin; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.at = i + 1
			return s.data[begin:i]
		case c == '\\' || c < ' ' || c >= 0x80:
			return s.unquote()
		}
	}
	s.fail(errTruncated)
	return nil
}

// unquote leaves a string that is not plain ASCII to the library.
func (s *Scanner) unquote() []byte {
	end := stringEnd(s.data, s.at+1)
	if end < 0 {
		s.fail(errTruncated)
		return nil
	}
	var text string
	if err := kjson.UnmarshalCaseSensitivePreserveInts(s.data[s.at:end], &text); err != nil {
		s.fail(err)
		return nil
	}
	s.at = end
	return []byte(text)
}

// Bool is the boolean at hand; null is false.
func (s *Scanner) Bool() bool {
	c := s.kind()
	switch {
	case s.err != nil:
		return false
	case c != 't' && c != 'f' && c != 'n':
		s.wrongType()
		return false
	}
	literal := s.Raw()
	switch string(literal) {
	case "true", "false", "null":
	default:
		s.at -= len(literal)
		s.badLiteral()
	}
	return c == 't'
}

// Raw is the value at hand as it stands; null is "null".
func (s *Scanner) Raw() []byte {
	s.kind()
	begin := s.at
	s.Skip()
	if s.err != nil {
		return nil
	}
	return s.data[begin:s.at:s.at]
}

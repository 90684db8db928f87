package claim

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The rules for labels of k8s.io/apimachinery/pkg/api/validate/content, without its
// regular expressions: every review asks for them several times. A test holds them
// against the library.

// IsLabelValue tells whether a label can have this value.
func IsLabelValue(s string) bool { return s == "" || isName(s) }

// IsLabelKey tells whether a label can have this key: a name, or the name of a DNS
// domain, a slash, and a name.
func IsLabelKey(s string) bool {
	prefix, name, prefixed := strings.Cut(s, "/")
	if !prefixed {
		return isName(s)
	}
	return isSubdomain(prefix) && isName(name)
}

// isName tells whether a text is what stands in a label: 63 letters, digits, '-', '_'
// and '.' at most, with a letter or a digit at both ends.
func isName(s string) bool {
	if s == "" || len(s) > validation.LabelValueMaxLength || !isAlphanumeric(s[0]) || !isAlphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// isSubdomain tells whether a text is a DNS subdomain (RFC 1123): lower-case letters,
// digits and '-', in parts that begin and end with a letter or a digit.
func isSubdomain(s string) bool {
	if len(s) > validation.DNS1123SubdomainMaxLength {
		return false
	}
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || part[0] == '-' || part[len(part)-1] == '-' {
			return false
		}
		for i := range len(part) {
			if c := part[i]; c != '-' && (!isAlphanumeric(c) || 'A' <= c && c <= 'Z') {
				return false
			}
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z'
}

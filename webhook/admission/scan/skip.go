package scan

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

const (
	// nestingMax is how deep a text may be, as encoding/json has it.
	nestingMax = 10000
	// checkedNesting is how deep the kinds of brackets are held together.
	checkedNesting = 64
)

// Skip goes past the value at hand, looking only for its end.
func (s *Scanner) Skip() {
	switch c := s.kind(); {
	case s.err != nil:
	case c == '"':
		s.skipTo(stringEnd(s.data, s.at+1))
	case c == '{' || c == '[':
		end, err := containerEnd(s.data, s.at)
		s.fail(err)
		s.skipTo(end)
	default:
		s.skipLiteral()
	}
}

func (s *Scanner) skipTo(end int) {
	if end < 0 {
		s.fail(errTruncated)
		return
	}
	s.at = end
}

// skipLiteral skips a number, true, false or null.
func (s *Scanner) skipLiteral() {
	begin := s.at
	for s.at < len(s.data) && !delimits(s.data[s.at]) {
		s.at++
	}
	if s.at == begin {
		s.unexpected(" looking for beginning of value")
	}
}

// SkipString goes past a string or null; anything else is an error.
func (s *Scanner) SkipString() {
	if c := s.kind(); c != '"' && c != 'n' && s.err == nil {
		s.wrongType()
		return
	}
	s.Skip()
}

func delimits(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ':' || c <= ' ' || c == '"' || c == '{' || c == '['
}

// errBrackets and errNesting are what can be wrong with a skipped value.
var (
	errBrackets = errors.New("brackets do not match")
	errNesting  = errors.New("exceeded max depth")
)

// containerEnd is where the object or array ends that begins at i; -1 if it doesn't.
func containerEnd(b []byte, i int) (int, error) {
	depth, objects := 0, uint64(0) // a bit for each open bracket: whether it is an object's
	for i < len(b) {
		switch c := b[i]; c {
		case '"':
			if i = stringEnd(b, i+1); i < 0 {
				return -1, nil
			}
			continue
		case '{', '[':
			if depth == nestingMax {
				return -1, errNesting
			}
			if depth < checkedNesting {
				objects &^= 1 << depth
				if c == '{' {
					objects |= 1 << depth
				}
			}
			depth++
		case '}', ']':
			depth--
			if depth < checkedNesting && (objects>>depth&1 == 1) != (c == '}') {
				return -1, errBrackets
			}
			if depth == 0 {
				return i + 1, nil
			}
		}
		i++
	}
	return -1, nil
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stringEnd is where the string ends whose first byte is at i, after the closing
// quote; -1 if it does not. It looks at eight bytes at a time.
func stringEnd(b []byte, i int) int {
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		quote, escape := w^('"'*ones), w^('\\'*ones)
		// A byte that was zero has its high bit set here, and the lowest such is true.
		found := ((quote-ones)&^quote | (escape-ones)&^escape) & highs
		if found == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(found) / 8
		if b[i] == '"' {
			return i + 1
		}
		i += 2
	}
	for i < len(b) {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		i++
	}
	return -1
}

package scan

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	kjson "sigs.k8s.io/json"
)

// framesMax is how deep the objects and arrays may be that a caller goes into.
const framesMax = 16

// itemsMax is how many items of arrays are handed out of one text. An item of three
// bytes can be fifty in memory, and a pod comes from anybody: one of the largest that
// the API server takes would need a hundred megabytes.
const itemsMax = 100_000

// RefusalError is why a text that the API server could read is not read: a field that is
// asked for stands twice, or lists are absurdly long.
type RefusalError string

// Error is one line.
func (r RefusalError) Error() string { return string(r) }

// errItems says that there are more.
var errItems = RefusalError(fmt.Sprintf("its lists have more than %d items", itemsMax))

// errTruncated says that the text ends too early, in the words of encoding/json.
var errTruncated = errors.New("unexpected end of JSON input")

// Scanner reads one JSON text. It keeps slices of the text: the text must not
// change while they are in use.
type Scanner struct {
	data   []byte
	at     int // the next byte to be read
	err    error
	key    []byte // of the field at hand, unescaped
	items  int    // handed out
	frames [framesMax]frame
	depth  int
}

// frame is an object or an array that the caller is in.
type frame struct {
	key    []byte // of the field whose value it is; nil for an array's item
	seen   uint32 // fields that were asked for
	begun  bool   // an element has been read
	absent bool   // it is null, or was not there: no elements
}

// New reads a text from its beginning.
func New(data []byte) Scanner { return Scanner{data: data} }

// Err is the first error: one line, which names the field, or nil.
func (s *Scanner) Err() error { return s.err }

// Mark is a place to come back to.
type Mark struct {
	at, depth int
	key       []byte
}

// Mark is the place of the value at hand.
func (s *Scanner) Mark() Mark {
	s.space()
	return Mark{s.at, s.depth, s.key}
}

// Since is the text from a place to here; nil after an error.
func (s *Scanner) Since(m Mark) []byte {
	if s.err != nil {
		return nil
	}
	return s.data[m.at:s.at:s.at]
}

// Rewind goes back to a place and forgets the error that came after it.
func (s *Scanner) Rewind(m Mark) { s.at, s.depth, s.key, s.err = m.at, m.depth, m.key, nil }

// Object goes into the object at hand; Next gives its fields. It tells whether
// there is one: null is none, and has no fields.
func (s *Scanner) Object() bool { return s.enter('{') }

// Array goes into the array at hand; Item gives its items.
func (s *Scanner) Array() bool { return s.enter('[') }

func (s *Scanner) enter(open byte) bool {
	c := s.kind()
	switch {
	case s.err != nil:
	case s.depth == framesMax:
		s.fail(errNesting)
	case c == 'n':
		s.null()
	case c != open:
		s.wrongType()
	default:
		s.at++
	}
	if s.err != nil {
		return false
	}
	s.frames[s.depth] = frame{key: s.key, absent: c != open}
	s.depth++
	return c == open
}

// Next goes to the next field of the object and tells whether there is one. The
// caller must read its value or skip it.
func (s *Scanner) Next() bool {
	if !s.more('}') {
		return false
	}
	if s.kind() != '"' {
		s.unexpected(" looking for beginning of object key string")
		return false
	}
	s.key = s.Bytes()
	if s.err == nil && s.kind() != ':' {
		s.unexpected(" after object key")
	}
	s.at++
	return s.err == nil
}

// Item goes to the next item of the array and tells whether there is one.
func (s *Scanner) Item() bool {
	if !s.more(']') {
		return false
	}
	s.key = nil
	if s.items++; s.items > itemsMax {
		s.fail(errItems)
	}
	return s.err == nil
}

// more goes to the next element, or leaves the object or array.
func (s *Scanner) more(end byte) bool {
	if s.err != nil || s.depth == 0 {
		return false
	}
	f := &s.frames[s.depth-1]
	if f.absent {
		s.depth--
		return false
	}
	c := s.kind()
	switch {
	case s.err != nil:
		return false
	case c == end:
		s.at++
		s.depth--
		return false
	case !f.begun:
		f.begun = true
		return true
	case c != ',':
		s.unexpected(" after a value")
		return false
	}
	s.at++
	if s.kind() == end {
		s.unexpected(" after a comma")
	}
	return s.err == nil
}

// Key is the name of the field at hand, until the next call of Next.
func (s *Scanner) Key() []byte { return s.key }

// Once marks the field at hand as one that is read: n is its number among those of
// the object, below 32. A field that stands twice is an error: the API server takes the last,
// others the first, and what is admitted must be what runs.
func (s *Scanner) Once(n uint) {
	if s.err != nil {
		return
	}
	f := &s.frames[s.depth-1]
	if f.seen&(1<<n) != 0 {
		s.Twice()
	}
	f.seen |= 1 << n
}

// Twice fails because the field at hand stands twice.
func (s *Scanner) Twice() { s.fail(RefusalError(s.path() + " stands there twice")) }

// End fails if anything but space follows.
func (s *Scanner) End() {
	if s.err != nil {
		return
	}
	if s.space(); s.at < len(s.data) {
		s.unexpected(" after top-level value")
	}
}

func (s *Scanner) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// space skips white space.
func (s *Scanner) space() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\n' || s.data[s.at] == '\t' || s.data[s.at] == '\r') {
		s.at++
	}
}

// kind is the first byte of the value at hand, or of what is in its place; 0 at
// the end, which is an error.
func (s *Scanner) kind() byte {
	if s.at < len(s.data) && s.data[s.at] > ' ' {
		return s.data[s.at]
	}
	if s.space(); s.at < len(s.data) {
		return s.data[s.at]
	}
	s.fail(errTruncated)
	return 0
}

// null reads the literal null.
func (s *Scanner) null() {
	if !bytes.HasPrefix(s.data[s.at:], []byte("null")) {
		s.badLiteral()
		return
	}
	s.at += len("null")
}

func (s *Scanner) unexpected(where string) {
	if s.err == nil && s.at < len(s.data) {
		s.fail(fmt.Errorf("invalid character %q%s", rune(s.data[s.at]), where))
	}
}

// badLiteral fails on what is none of JSON's literals, in the library's words.
func (s *Scanner) badLiteral() {
	var literal any
	end := s.at
	for end < len(s.data) && !delimits(s.data[end]) {
		end++
	}
	err := kjson.UnmarshalCaseSensitivePreserveInts(s.data[s.at:end], &literal)
	if err == nil {
		err = fmt.Errorf("invalid character %q looking for beginning of value", rune(s.data[s.at]))
	}
	s.fail(err)
}

// wrongType fails because the value at hand is of another type than asked for.
func (s *Scanner) wrongType() {
	var what string
	switch c := s.kind(); {
	case c == '"':
		what = "string"
	case c == '{':
		what = "object"
	case c == '[':
		what = "array"
	case c == 't' || c == 'f':
		what = "bool"
	case c == '-' || c >= '0' && c <= '9':
		what = "number"
	default:
		s.unexpected(" looking for beginning of value")
		return
	}
	path := s.path()
	if path == "" {
		path = "it"
	}
	s.fail(fmt.Errorf("%s can't be a JSON %s", path, what))
}

// path is where the value at hand stands: spec.nodeName. Items have no name.
func (s *Scanner) path() string {
	var parts []string
	for _, f := range s.frames[:s.depth] {
		if f.key != nil {
			parts = append(parts, string(f.key))
		}
	}
	if s.key != nil {
		parts = append(parts, string(s.key))
	}
	return strings.Join(parts, ".")
}

package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

const (
	// reviewBuffer is what a body's buffer starts with: most reviews of pods
	// fit. Content-Length is not trusted further than that, or a client could
	// hold memory by promising a body.
	reviewBuffer = 64 << 10
	// maxPooledBuffer keeps the buffer of one giant review from staying for ever.
	maxPooledBuffer = 1 << 20
)

// heldMax is how many bytes of large bodies are held at a time: of each, what
// is beyond a usual review. Anybody who can reach the port can send large ones,
// and keep their ends back; usual reviews must pass all the same.
const heldMax = 48 << 20

// bodies pools the buffers that request bodies are read into, and counts what
// is held in them.
type bodies struct {
	pool sync.Pool
	held atomic.Int64
}

// errBusy ends a body that would be one too many.
var errBusy = errors.New("too many bytes of reviews at once")

// metered is a body whose bytes count as held once they have been read, but
// for the first reviewBuffer bytes.
type metered struct {
	io.Reader
	bodies *bodies
	read   int64
	held   int64 // what counts of it
}

// Read reads on, unless too much is held.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	m.read += int64(n)
	more := max(0, m.read-reviewBuffer) - m.held
	if more == 0 {
		return n, err
	}
	m.held += more
	if m.bodies.held.Add(more) > heldMax {
		return n, errBusy
	}
	return n, err
}

// release ends the count, when the body is needed no more.
func (m *metered) release() { m.bodies.held.Add(-m.held) }

// get is an empty buffer, to be given back with put.
func (b *bodies) get() *bytes.Buffer {
	if buf, ok := b.pool.Get().(*bytes.Buffer); ok {
		return buf
	}
	return new(bytes.Buffer)
}

// put takes a buffer back. Nothing read into it may be used afterwards.
func (b *bodies) put(buf *bytes.Buffer) {
	if buf.Cap() > maxPooledBuffer {
		return
	}
	buf.Reset()
	b.pool.Put(buf)
}

// read reads the body of a request into a buffer, at most limit bytes. Release
// must be called when the buffer is needed no more.
func (b *bodies) read(w http.ResponseWriter, r *http.Request, limit int64, into *bytes.Buffer) (release func(), problem *httpError) {
	if r.ContentLength > limit {
		return func() {}, tooLarge(limit)
	}
	into.Grow(int(min(max(r.ContentLength+bytes.MinRead, 0), reviewBuffer)))
	body := &metered{Reader: http.MaxBytesReader(w, r.Body, limit), bodies: b}
	_, err := into.ReadFrom(body)
	return body.release, unreadable(err, limit)
}

// unreadable is the answer to a body that could not be read; nil if it could.
func unreadable(err error, limit int64) *httpError {
	var netErr net.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errBusy):
		return &httpError{causeBusy, "berth is busy: " + errBusy.Error() + "; try again"}
	case errors.As(err, new(*http.MaxBytesError)):
		return tooLarge(limit)
	case errors.As(err, &netErr) && netErr.Timeout():
		return &httpError{causeSlow, "the body did not arrive in time"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &httpError{causeIncomplete, "the body ended before it was complete"}
	default:
		return &httpError{causeIncomplete, fmt.Sprintf("the body can't be read: %v", err)}
	}
}

func tooLarge(limit int64) *httpError {
	return &httpError{causeTooLarge, fmt.Sprintf("the body is larger than %d bytes (--max-request-bytes)", limit)}
}

// checkContentType refuses everything but application/json. Parameters and
// case make no difference (RFC 9110, 8.3.1).
func checkContentType(header string) *httpError {
	if header == "application/json" { // as the API server writes it
		return nil
	}
	if header == "" {
		return &httpError{causeContentType, "the content type is missing: send application/json"}
	}
	media, _, err := mime.ParseMediaType(header)
	if (err == nil || errors.Is(err, mime.ErrInvalidMediaParameter)) && media == "application/json" {
		return nil
	}
	return &httpError{causeContentType, fmt.Sprintf("the content type %.100q is not supported: send application/json", header)}
}

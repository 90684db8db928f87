package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// window is how much the server may send before it is told to go on; the most that
// HTTP/2 has.
const window = 1<<31 - 1

// HTTP2 is one connection that speaks HTTP/2 and keeps a number of streams busy.
// For one goroutine.
type HTTP2 struct {
	conn   *tls.Conn
	framer *http2.Framer
	out    *bytes.Buffer // frames to be sent together
	head   []byte        // the headers of every request, encoded
	body   []byte

	frame    int    // largest frame that the server takes
	credit   int64  // bytes that the connection may still send
	perReply int64  // bytes that a stream may send
	next     uint32 // stream to be opened next
	began    map[uint32]time.Time
	answers  map[uint32][]byte
	ready    bool // the server's settings came
}

// DialHTTP2 opens a connection for requests that carry one body.
func DialHTTP2(ctx context.Context, target Target, body []byte) (*HTTP2, error) {
	conn, err := target.dial(ctx, http2.NextProtoTLS)
	if err != nil {
		return nil, err
	}
	c := &HTTP2{
		conn: conn, out: &bytes.Buffer{}, body: body, frame: 16 << 10, credit: 65535, perReply: 65535, next: 1,
		began: map[uint32]time.Time{}, answers: map[uint32][]byte{},
	}
	c.framer = http2.NewFramer(c.out, conn)
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.encodeHead(target)
	c.out.WriteString(http2.ClientPreface)
	if err := errors.Join(
		c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}, http2.Setting{ID: http2.SettingEnablePush, Val: 0}),
		c.framer.WriteWindowUpdate(0, window-65535),
	); err != nil {
		return nil, fmt.Errorf("write the preface: %w", err)
	}
	return c, nil
}

// Close closes the connection.
func (c *HTTP2) Close() error { return c.conn.Close() }

// encodeHead encodes the headers once. They stay out of the dynamic table, so the
// same bytes serve every request.
func (c *HTTP2) encodeHead(target Target) {
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "https"}, {":path", target.Path}, {":authority", target.Address},
		{"user-agent", "bench"}, {"accept", "application/json, */*"}, {"content-type", "application/json"}, {"content-length", strconv.Itoa(len(c.body))},
	} {
		// The buffer takes everything.
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1], Sensitive: true})
	}
	c.head = head.Bytes()
}

// Run keeps so many streams busy until the time is up, and then waits for the last
// answers. Every answer goes to check, with the time that it took.
func (c *HTTP2) Run(streams int, until time.Time, check func(answer []byte, took time.Duration) error) error {
	for {
		if time.Now().Before(until) {
			if err := c.open(streams); err != nil {
				return err
			}
		} else if len(c.began) == 0 {
			return nil
		}
		if err := c.flush(); err != nil {
			return err
		}
		if err := c.read(check); err != nil {
			return err
		}
	}
}

// open opens streams until enough are busy or the server wants no more bytes.
func (c *HTTP2) open(streams int) error {
	for c.ready && len(c.began) < streams && c.credit >= int64(len(c.body)) {
		if c.perReply < int64(len(c.body)) {
			return fmt.Errorf("the server takes %d bytes of a request at once, not %d", c.perReply, len(c.body))
		}
		id := c.next
		c.next += 2
		c.began[id] = time.Now()
		c.credit -= int64(len(c.body))
		err := c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: c.head, EndHeaders: true})
		for rest := c.body; err == nil && len(rest) > 0; {
			part := rest[:min(len(rest), c.frame)]
			rest = rest[len(part):]
			err = c.framer.WriteData(id, len(rest) == 0, part)
		}
		if err != nil {
			return fmt.Errorf("write a request: %w", err)
		}
	}
	return nil
}

func (c *HTTP2) flush() error {
	if c.out.Len() == 0 {
		return nil
	}
	if err := c.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return fmt.Errorf("set the deadline: %w", err)
	}
	if _, err := c.out.WriteTo(c.conn); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return nil
}

// read takes in one frame.
func (c *HTTP2) read(check func([]byte, time.Duration) error) error {
	frame, err := c.framer.ReadFrame()
	if err != nil {
		return fmt.Errorf("read a frame: %w", err)
	}
	switch f := frame.(type) {
	case *http2.SettingsFrame:
		return c.agree(f)
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			c.credit += int64(f.Increment)
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			return c.framer.WritePing(true, f.Data)
		}
	case *http2.MetaHeadersFrame:
		if status := f.PseudoValue("status"); status != "200" {
			return errors.New("the server answers " + status)
		}
		return c.end(f.StreamID, f.StreamEnded(), check)
	case *http2.DataFrame:
		c.answers[f.StreamID] = append(c.answers[f.StreamID], f.Data()...)
		if n := len(f.Data()); n > 0 {
			if err := c.framer.WriteWindowUpdate(0, uint32(n)); err != nil {
				return err
			}
		}
		return c.end(f.StreamID, f.StreamEnded(), check)
	case *http2.RSTStreamFrame:
		return fmt.Errorf("the server resets stream %d: %s", f.StreamID, f.ErrCode)
	case *http2.GoAwayFrame:
		return fmt.Errorf("the server goes away: %s: %w", f.ErrCode, io.EOF)
	}
	return nil
}

// agree takes the server's settings.
func (c *HTTP2) agree(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	if size, ok := f.Value(http2.SettingMaxFrameSize); ok {
		c.frame = int(size)
	}
	if size, ok := f.Value(http2.SettingInitialWindowSize); ok {
		c.perReply = int64(size)
	}
	c.ready = true
	return c.framer.WriteSettingsAck()
}

// end hands over the answer of a stream that has ended.
func (c *HTTP2) end(id uint32, ended bool, check func([]byte, time.Duration) error) error {
	if !ended {
		return nil
	}
	took, answer := time.Since(c.began[id]), c.answers[id]
	delete(c.began, id)
	delete(c.answers, id)
	return check(answer, took)
}

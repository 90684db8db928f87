package load

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"time"
)

// HTTP1 is one connection that speaks HTTP/1.1. For one goroutine.
type HTTP1 struct {
	target Target
	conn   *tls.Conn
	reader *bufio.Reader
}

// DialHTTP1 opens a connection.
func DialHTTP1(ctx context.Context, target Target) (*HTTP1, error) {
	conn, err := target.dial(ctx, "http/1.1")
	if err != nil {
		return nil, err
	}
	return &HTTP1{target: target, conn: conn, reader: bufio.NewReader(conn)}, nil
}

// Close closes the connection.
func (c *HTTP1) Close() error { return c.conn.Close() }

// Request is the text of the request that carries a body.
func (c *HTTP1) Request(body []byte) []byte {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: bench\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		c.target.Path, c.target.Address, len(body))
	return append([]byte(head), body...)
}

// Do sends a request that was made by Request, and gives the answer's body. An
// answer other than 200 is an error.
func (c *HTTP1) Do(request []byte) ([]byte, error) {
	if err := c.conn.SetDeadline(time.Now().Add(answerTimeout)); err != nil {
		return nil, fmt.Errorf("set the deadline: %w", err)
	}
	if _, err := c.conn.Write(request); err != nil {
		return nil, fmt.Errorf("send to %s: %w", c.target.Address, err)
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return nil, fmt.Errorf("read from %s: %w", c.target.Address, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("read from %s: %w", c.target.Address, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s: %s", c.target.Address, response.Status, answer)
	}
	return answer, nil
}

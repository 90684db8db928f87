package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/assert"
)

const (
	slowClients    = 150 // of each kind
	stalledClients = 6   // whose bodies leave 9 KiB of what Berth holds at a time
	idleClients    = 2000
)

const reviewHead = "POST /mutate HTTP/1.1\r\nHost: berth\r\nContent-Type: application/json\r\n"

// slowly has many slow clients at a time, and idle ones that wait for their end.
func (a *attacked) slowly() {
	begun := time.Now()
	var all sync.WaitGroup
	for name, slow := range map[string]struct {
		clients     int
		begin, drip string
		within      time.Duration // that the server must end it
	}{
		"a head byte by byte":             {slowClients, "", reviewHead + "X: " + strings.Repeat("x", 1000), 10 * time.Second},
		"a body byte by byte":             {slowClients, reviewHead + "Content-Length: 1000\r\n\r\n{", strings.Repeat(" ", 1000), 25 * time.Second},
		"a body of 8 MiB without its end": {stalledClients, reviewHead + "Content-Length: 8388608\r\n\r\n" + strings.Repeat(" ", 8<<20-1536), "", 25 * time.Second},
	} {
		all.Go(func() {
			var clients sync.WaitGroup
			var longest atomic.Int64
			for range slow.clients {
				clients.Go(func() {
					held := a.drip(slow.begin, slow.drip)
					for now := longest.Load(); int64(held) > now && !longest.CompareAndSwap(now, int64(held)); now = longest.Load() {
					}
				})
			}
			clients.Wait()
			a.t.Logf("%d clients with %s: all ended by the server, the last after %s", slow.clients, name, time.Duration(longest.Load()).Round(10*time.Millisecond))
			assert.Less(a.t, time.Duration(longest.Load()), slow.within)
		})
	}
	release := a.idle()
	a.t.Logf("%d idle connections after %s, %.1f MiB resident", idleClients, time.Since(begun).Round(time.Millisecond), a.resident())
	all.Wait()
	release()
}

// drip sends a beginning at once and the rest byte by byte, twice a second,
// until the server ends the connection; it gives how long that took.
func (a *attacked) drip(begin, rest string) time.Duration {
	conn, err := a.dial("http/1.1")
	if !assert.NoError(a.t, err) {
		return 0
	}
	defer func() { _ = conn.Close() }()
	begun, ended := time.Now(), make(chan struct{})
	_ = conn.SetDeadline(begun.Add(waitFor))
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, conn)
	}()
	_, _ = io.WriteString(conn, begin)
	every := time.NewTicker(500 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-ended:
			return time.Since(begun)
		case <-every.C:
			if len(rest) > 0 {
				_, _ = io.WriteString(conn, rest[:1])
				rest = rest[1:]
			}
		}
	}
}

// idle opens connections that ask once and then keep still, until released.
func (a *attacked) idle() (release func()) {
	ready, released := sync.WaitGroup{}, make(chan struct{})
	var closed sync.WaitGroup
	ready.Add(idleClients)
	turns := make(chan struct{}, 32)
	for range idleClients {
		closed.Go(func() {
			turns <- struct{}{}
			conn, err := a.dial("http/1.1")
			if err == nil {
				defer func() { _ = conn.Close() }()
				review := daemonPod("idle", "model-cache")
				_, _ = fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", reviewHead, len(review), review)
				var response *http.Response
				if response, err = http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
					_, err = io.Copy(io.Discard, response.Body)
				}
			}
			assert.NoError(a.t, err)
			<-turns
			ready.Done()
			<-released
		})
	}
	ready.Wait()
	return func() { close(released); closed.Wait() }
}

// blanks is an endless JSON text of nothing, in pieces.
type blanks struct{ piece string }

func newBlanks() blanks { return blanks{strings.Repeat(" ", 32<<10)} }

func (b blanks) Read(p []byte) (int, error) { return copy(p, b.piece), nil }

// withBodies sends large bodies, with their length told and untold, and then
// bodies without end.
func (a *attacked) withBodies() {
	const times, size = 10, 20 << 20
	client := a.dialing(a.t).client(a.t)
	for name, send := range map[string]func() (int, error){
		"20 MiB, announced":     func() (int, error) { return a.announced(client, size) },
		"20 MiB, not announced": func() (int, error) { return codeOf(exchange(client, io.LimitReader(newBlanks(), size))) },
		"without end":           func() (int, error) { return codeOf(exchange(client, newBlanks())) },
	} {
		var mu sync.Mutex
		codes := map[int]int{}
		var clients sync.WaitGroup
		for range 10 {
			clients.Go(func() {
				for range times / 10 {
					code, _ := send() // an answer may be overtaken by the broken upload: then it is 0
					mu.Lock()
					codes[code]++
					mu.Unlock()
				}
			})
		}
		clients.Wait()
		a.t.Logf("%d bodies %s: answers by code %v", times, name, codes)
		for code := range codes {
			assert.Contains(a.t, []int{0, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable}, code, name)
		}
		assert.Positive(a.t, codes[http.StatusRequestEntityTooLarge]+codes[http.StatusServiceUnavailable], name)
	}
}

func codeOf(code int, _ []byte, err error) (int, error) { return code, err }

// announced sends a body whose length is told.
func (a *attacked) announced(client *http.Client, size int64) (int, error) {
	request, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, "https://127.0.0.1:9443/mutate", io.LimitReader(newBlanks(), size))
	if err != nil {
		return 0, err
	}
	request.ContentLength = size
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}

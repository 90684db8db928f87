package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"berth.dev/berth/test/bench/contender"
)

// call calls an HTTP handler from bytes to bytes, with as little of its own as can
// be: the request and the answer's buffer are made once. For one goroutine.
func call(handler http.Handler) contender.Review {
	request := &http.Request{
		Method: http.MethodPost, URL: mutateURL(), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, RequestURI: "/mutate",
	}
	answer := &recorder{header: http.Header{}}
	return func(ctx context.Context, body []byte) ([]byte, error) {
		answer.reset()
		r := request.WithContext(ctx)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		handler.ServeHTTP(answer, r)
		if answer.code != http.StatusOK {
			return nil, fmt.Errorf("code %d: %s", answer.code, answer.body.String())
		}
		return answer.body.Bytes(), nil
	}
}

// recorder is a http.ResponseWriter that keeps the answer.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *recorder) reset() {
	clear(r.header)
	r.code = http.StatusOK
	r.body.Reset()
}

// Header is part of http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader is part of http.ResponseWriter.
func (r *recorder) WriteHeader(code int) { r.code = code }

// Write is part of http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func mutateURL() *url.URL { return &url.URL{Path: "/mutate"} }

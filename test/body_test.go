package test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// edit is the review with a text put in the place of another that it holds once.
func edit(t *testing.T, review []byte, old, now string) []byte {
	t.Helper()
	require.Equal(t, 1, bytes.Count(review, []byte(old)), "%s", old)
	return bytes.Replace(review, []byte(old), []byte(now), 1)
}

// padded is the review with an environment of so many kilobytes.
func padded(t *testing.T, review []byte, kilobytes int) []byte {
	t.Helper()
	var env strings.Builder
	for i := range kilobytes {
		fmt.Fprintf(&env, `{"name": "V%06d", "value": %q},`, i, strings.Repeat("y", 1000))
	}
	return edit(t, review, `"name": "server",`, `"name": "server", "env": [`+strings.TrimSuffix(env.String(), ",")+`],`)
}

func TestReviewsOfAnySize(t *testing.T) {
	s := serveStandard(t)
	review := readFile(t, anyReview)
	tests := map[string]struct {
		body []byte
		code int
	}{
		"if an annotation is as large as annotations may be, then the pod is rewritten": {
			edit(t, review, `"generateName":`, `"annotations": {"pad.example/blob": "`+strings.Repeat("x", 240<<10)+`"}, "generateName":`), 200},
		"if a pod is larger than etcd takes, then it is rewritten all the same": {padded(t, review, 2500), 200},
		"if a review is larger than the limit, then the answer is 413":          {padded(t, review, 20000), 413},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, header, body := s.post(t, "/mutate", "application/json", bytes.NewReader(tt.body))
			require.Equal(t, tt.code, code, "%.300s", body)
			if code != 200 {
				assertLine(t, header, body)
				return
			}
			r := responseOf(t, body)
			assert.Equal(t, "rewritten", verdictOf(r))
			request := requestOf(t, tt.body)
			patched := apply(t, request.Object, r.Patch)
			assertOnlyClaimNamesDiffer(t, request.Object, patched)
		})
	}
}

func TestBodiesThatAreNoReview(t *testing.T) {
	s := serveStandard(t)
	review := readFile(t, anyReview)
	tests := map[string]string{
		"if the body is empty, then the answer is 400":                             "",
		"if the body is an empty object, then the answer is 400":                   "{}",
		"if the body is null, then the answer is 400":                              "null",
		"if the body is a list, then the answer is 400":                            "[]",
		"if the body is text, then the answer is 400":                              "admission",
		"if the body is binary, then the answer is 400":                            "k8s\x00\x0a\x1f\xff\xfe",
		"if the body ends too early, then the answer is 400":                       string(review[:500]),
		"if the body goes on after the review, then the answer is 400":             string(review) + "{}",
		"if the review has no request, then the answer is 400":                     `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}`,
		"if the request is null, then the answer is 400":                           `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": null}`,
		"if the request has no uid, then the answer is 400":                        `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"operation": "CREATE"}}`,
		"if the review is an answer, then the answer is 400":                       `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": {"uid": "x", "allowed": true}}`,
		"if the review is of v1beta1, then the answer is 400":                      string(edit(t, review, "admission.k8s.io/v1", "admission.k8s.io/v1beta1")),
		"if the kind is another, then the answer is 400":                           string(edit(t, review, `"kind": "AdmissionReview"`, `"kind": "ConversionReview"`)),
		"if the body is nested too deeply, then the answer is 400":                 strings.Repeat(`{"request":`, 100_000),
		"if the uid is a number, then the answer is 400":                           `{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": 7}}`,
		"if the keys are in other case, then they are not read: the answer is 400": `{"Kind": "AdmissionReview", "ApiVersion": "admission.k8s.io/v1", "Request": {"UID": "x"}}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"/mutate", "/validate"} {
				code, header, answer := s.post(t, path, "application/json", strings.NewReader(body))
				require.Equal(t, http.StatusBadRequest, code, "%s", answer)
				assertLine(t, header, answer)
				assert.Less(t, len(answer), 600, "the line is too long")
			}
		})
	}
	s.review(t, "/mutate", review) // unharmed
}

// TestBodyCutOff sends less than was promised.
func TestBodyCutOff(t *testing.T) {
	s := serveStandard(t)
	review := readFile(t, anyReview)
	conn, err := (&tls.Dialer{Config: s.tls}).DialContext(t.Context(), "tcp", s.address)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "POST /mutate HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		s.address, len(review), review[:500])
	require.NoError(t, err)
	require.NoError(t, conn.(*tls.Conn).CloseWrite())
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusBadRequest, res.StatusCode)
	assertLine(t, res.Header, body)
	s.review(t, "/mutate", review)
}

// TestMaxRequestBytes holds the limit to the byte.
func TestMaxRequestBytes(t *testing.T) {
	review := readFile(t, anyReview)
	s := serveStandard(t, "--max-request-bytes="+strconv.Itoa(len(review)))
	s.review(t, "/mutate", review)
	// A space more, with its length told and untold.
	more := append(bytes.Clone(review), ' ')
	for _, body := range []io.Reader{bytes.NewReader(more), io.MultiReader(bytes.NewReader(more))} {
		code, header, answer := s.post(t, "/mutate", "application/json", body)
		assert.Equal(t, http.StatusRequestEntityTooLarge, code, "%s", answer)
		assertLine(t, header, answer)
	}
}

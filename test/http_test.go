package test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
)

// anyReview is a review that is rewritten.
const anyReview = "fixtures/pins/daemonset-pod/review.json"

// serveStandard serves the cluster of most fixtures, under their flags.
func serveStandard(t *testing.T, flags ...string) *server {
	t.Helper()
	return serve(t, filepath.Join(clustersDir, "standard.yaml"), append(defaultFlags(), flags...)...)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

// responseOf reads an answer to a review.
func responseOf(t *testing.T, body []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	var answer admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(body, &answer), "%s", body)
	require.NotNil(t, answer.Response)
	return answer.Response
}

// assertLine holds that an answer that is no review is one readable line.
func assertLine(t *testing.T, header http.Header, body []byte) {
	t.Helper()
	assert.Contains(t, header.Get("Content-Type"), "text/plain")
	assert.Equal(t, 1, bytes.Count(body, []byte("\n")), "%q", body)
	assert.True(t, bytes.HasSuffix(body, []byte("\n")), "%q", body)
	assert.Greater(t, len(body), 10, "%q", body)
	assertOneLine(t, strings.TrimSuffix(string(body), "\n"))
}

func TestHTTPRequests(t *testing.T) {
	s := serveStandard(t)
	review := readFile(t, anyReview)
	tests := map[string]struct {
		method, path, contentType string
		code                      int
	}{
		"if the content type is application/json, then the review is answered": {contentType: "application/json", code: 200},
		"if the content type has a charset, then it is no difference":          {contentType: "application/json; charset=utf-8", code: 200},
		"if the content type has odd spacing and parameters, then it is no difference": {
			contentType: `application/json ;q=1;charset="UTF-8"`, code: 200},
		"if the content type is in other case, then it is no difference":        {contentType: "Application/JSON", code: 200},
		"if the content type is text/plain, then the answer is 415":             {contentType: "text/plain", code: 415},
		"if the content type is protobuf, then the answer is 415":               {contentType: "application/vnd.kubernetes.protobuf", code: 415},
		"if the content type only begins like JSON's, then the answer is 415":   {contentType: "application/json-patch+json", code: 415},
		"if the content type is missing, then the answer is 415":                {code: 415},
		"if the content type is garbage, then the answer is 415":                {contentType: ";;;=", code: 415},
		"if the API server gives its time-out, then the query is no difference": {path: "/mutate?timeout=5s", contentType: "application/json", code: 200},
		"if the time-out is garbage, then it counts as absent":                  {path: "/mutate?timeout=soon&timeout=%zz", contentType: "application/json", code: 200},
		"if the path is /validate, then the review is answered":                 {path: "/validate", contentType: "application/json", code: 200},
		"if the method is GET, then the answer is 405":                          {method: "GET", contentType: "application/json", code: 405},
		"if the method is PUT, then the answer is 405":                          {method: "PUT", contentType: "application/json", code: 405},
		"if the method is HEAD, then the answer is 405":                         {method: "HEAD", code: 405},
		"if the path is unknown, then the answer is 404":                        {path: "/mutate-pods", contentType: "application/json", code: 404},
		"if the path is the root, then the answer is 404":                       {path: "/", contentType: "application/json", code: 404},
		"if the path ends in a slash, then the answer is 404 and no redirect":   {path: "/mutate/", contentType: "application/json", code: 404},
		"if the path has two slashes, then the answer is 404 and no redirect":   {path: "//mutate", contentType: "application/json", code: 404},
		"if the path is in other case, then the answer is 404":                  {path: "/Mutate", contentType: "application/json", code: 404},
		"if metrics are asked of the admission server, then the answer is 404":  {method: "GET", path: "/metrics", code: 404},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			method, path := tt.method, tt.path
			if method == "" {
				method = http.MethodPost
			}
			if path == "" {
				path = "/mutate"
			}
			code, header, body := s.send(t, method, path, tt.contentType, bytes.NewReader(review))
			require.Equal(t, tt.code, code, "%s", body)
			switch {
			case code == 200:
				assert.Equal(t, uidOf(t, review), string(responseOf(t, body).UID))
			case method == http.MethodHead:
				assert.Empty(t, body)
			default:
				assertLine(t, header, body)
			}
			if code == 405 {
				assert.Equal(t, "POST", header.Get("Allow"))
			}
		})
	}
}

func TestMetricsServer(t *testing.T) {
	s := serveStandard(t)
	tests := map[string]struct {
		method, path string
		code         int
		holds        string
	}{
		"if liveness is asked for, then it is ok":                 {method: "GET", path: "/livez", code: 200, holds: "ok"},
		"if readiness is asked for, then it is ok":                {method: "GET", path: "/readyz", code: 200, holds: "ok"},
		"if metrics are asked for, then Berth's are there":        {method: "GET", path: "/metrics", code: 200, holds: "berth_admission_requests_total"},
		"if a review is posted in the clear, then it is not read": {method: "POST", path: "/mutate", code: 404},
		"if readiness is posted, then the answer is 405":          {method: "POST", path: "/readyz", code: 405},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, body := s.ask(t, tt.method, tt.path)
			assert.Equal(t, tt.code, code, "%s", body)
			assert.Contains(t, body, tt.holds)
		})
	}
}

// ask asks the metrics server.
func (s *server) ask(t *testing.T, method, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.metrics+path, nil)
	require.NoError(t, err)
	res, err := s.client.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(body)
}

package webhook

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
)

func TestAdmissionCodes(t *testing.T) {
	const mediaType = "application/json"
	good := plainReview("u-1", "", "pods", "DELETE")
	cases := map[string]struct {
		method, path, contentType, body string
		wantCode                        int
		wantAllow, wantLine             string
	}{
		"a review to mutate is answered":              {method: "POST", path: "/mutate", contentType: mediaType, body: good, wantCode: 200},
		"a review to validate is answered":            {method: "POST", path: "/validate", contentType: mediaType, body: good, wantCode: 200},
		"a time-out in the query is no other path":    {method: "POST", path: "/mutate?timeout=5s", contentType: mediaType, body: good, wantCode: 200},
		"parameters of the type make no difference":   {method: "POST", path: "/mutate", contentType: "application/json; charset=utf-8", body: good, wantCode: 200},
		"case of the type makes no difference":        {method: "POST", path: "/mutate", contentType: "Application/JSON;Charset=UTF-8", body: good, wantCode: 200},
		"a malformed parameter makes no difference":   {method: "POST", path: "/mutate", contentType: "application/json; =", body: good, wantCode: 200},
		"GET is not allowed":                          {method: "GET", path: "/mutate", wantCode: 405, wantAllow: "POST", wantLine: "method not allowed"},
		"HEAD is not allowed":                         {method: "HEAD", path: "/validate", wantCode: 405, wantAllow: "POST"},
		"PUT is not allowed, whatever is sent":        {method: "PUT", path: "/validate", contentType: mediaType, body: good, wantCode: 405, wantAllow: "POST", wantLine: "method not allowed"},
		"the root is unknown":                         {method: "POST", path: "/", contentType: mediaType, body: good, wantCode: 404, wantLine: "not found"},
		"a path below a known one is unknown":         {method: "POST", path: "/mutate/x", contentType: mediaType, body: good, wantCode: 404, wantLine: "not found"},
		"a trailing slash makes another path":         {method: "POST", path: "/mutate/", contentType: mediaType, body: good, wantCode: 404, wantLine: "not found"},
		"a doubled slash is not redirected":           {method: "POST", path: "//mutate", contentType: mediaType, body: good, wantCode: 404, wantLine: "not found"},
		"metrics are not served here":                 {method: "GET", path: "/metrics", wantCode: 404, wantLine: "not found"},
		"a missing content type is refused":           {method: "POST", path: "/mutate", body: good, wantCode: 415, wantLine: "content type is missing"},
		"another content type is refused":             {method: "POST", path: "/mutate", contentType: "text/xml", body: good, wantCode: 415, wantLine: `"text/xml"`},
		"a content type that begins alike is refused": {method: "POST", path: "/mutate", contentType: "application/json-patch+json", body: good, wantCode: 415, wantLine: "not supported"},
		"two content types in one are refused":        {method: "POST", path: "/mutate", contentType: "application/json, text/plain", body: good, wantCode: 415, wantLine: "not supported"},
		"an empty body is malformed":                  {method: "POST", path: "/mutate", contentType: mediaType, wantCode: 400},
		"no JSON is malformed":                        {method: "POST", path: "/mutate", contentType: mediaType, body: "uid=1", wantCode: 400},
		"a truncated review is malformed":             {method: "POST", path: "/mutate", contentType: mediaType, body: good[:len(good)/2], wantCode: 400},
		"another kind is malformed":                   {method: "POST", path: "/mutate", contentType: mediaType, body: `{"kind":"Pod","apiVersion":"v1"}`, wantCode: 400},
		"an older version is malformed":               {method: "POST", path: "/mutate", contentType: mediaType, body: strings.Replace(good, "io/v1", "io/v1beta1", 1), wantCode: 400},
		"a review without request is malformed":       {method: "POST", path: "/mutate", contentType: mediaType, body: `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, wantCode: 400},
		"a body beyond the limit is too large":        {method: "POST", path: "/mutate", contentType: mediaType, body: strings.Repeat(" ", 1<<20+1), wantCode: 413, wantLine: "larger than 1048576 bytes"},
		"a body of the limit is not":                  {method: "POST", path: "/mutate", contentType: mediaType, body: good + strings.Repeat(" ", 1<<20-len(good)), wantCode: 200},
	}
	handler := NewServer(configOf(pipelineOf(emptyView{}, nil))).AdmissionHandler()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body))
			if tc.contentType != "" {
				r.Header.Set("Content-Type", tc.contentType)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			assert.Equal(t, tc.wantCode, w.Code, w.Body.String())
			assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			assert.Equal(t, tc.wantAllow, w.Header().Get("Allow"))
			if tc.wantCode == http.StatusOK {
				assert.Equal(t, mediaType, w.Header().Get("Content-Type"))
				uid, allowed, _ := answerOf(t, w.Body.Bytes())
				assert.Equal(t, "u-1", uid)
				assert.True(t, allowed)
				return
			}
			assertOneLine(t, w)
			assert.Contains(t, w.Body.String(), tc.wantLine)
		})
	}
}

// assertOneLine holds that an answer is one readable line of text.
func assertOneLine(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	media, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	assert.Equal(t, "text/plain", media)
	line, rest, ok := strings.Cut(w.Body.String(), "\n")
	assert.True(t, ok, "it ends with a newline")
	assert.Empty(t, rest, "it is one line")
	assert.NotEmpty(t, strings.TrimSpace(line))
}

func TestNotSyncedIs503(t *testing.T) {
	live := &reader{}
	c := configOf(pipelineOf(emptyView{}, live))
	c.Synced = func() error {
		return errors.New("persistentvolumeclaims: forbidden: may not list\nnodes: not listed yet")
	}
	w := post(NewServer(c).AdmissionHandler(), "/mutate", podReview("u-1", "x"))
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	assertOneLine(t, w)
	assert.Equal(t, "berth is not ready: persistentvolumeclaims: forbidden: may not list; nodes: not listed yet\n", w.Body.String())
	assert.Empty(t, live.calls)
}

func TestPanicBeforeTheUIDIs500(t *testing.T) {
	p := pipelineOf(emptyView{}, nil)
	p.decode = func([]byte) (*admission.Request, error) { panic("decode is broken") }
	c := configOf(p)
	handler := NewServer(c).AdmissionHandler()
	w := post(handler, "/mutate", "{}")
	require.Equal(t, http.StatusInternalServerError, w.Code)
	assertOneLine(t, w)
	assert.NotContains(t, w.Body.String(), "decode is broken", "what went wrong inside is for the log")
	assert.Equal(t, 1, seriesOf(t, c.Metrics)["berth_panics_total"])
}

func TestPanicAfterTheUIDIsAnswered(t *testing.T) {
	c := configOf(pipelineOf(panicView{}, nil))
	handler := NewServer(c).AdmissionHandler()
	w := post(handler, "/validate", podReview("u-9", "x"))
	require.Equal(t, http.StatusOK, w.Code)
	uid, allowed, code := answerOf(t, w.Body.Bytes())
	assert.Equal(t, "u-9", uid)
	assert.False(t, allowed)
	assert.Equal(t, 500, code)
	series := seriesOf(t, c.Metrics)
	assert.Equal(t, 1, series["berth_panics_total"])
	assert.Equal(t, 1, series[`berth_admission_refusals_total{reason="InternalError",resource="pods"}`])
}

func TestMetricsRoutes(t *testing.T) {
	c := configOf(pipelineOf(emptyView{}, nil))
	var unsynced, uncertified error
	c.Synced = func() error { return unsynced }
	c.Certificate = func() error { return uncertified }
	s := NewServer(c)
	code, body := fetch(t, s.MetricsHandler(), "/readyz")
	assert.Equal(t, 200, code, body)

	unsynced = errors.Join(errors.New("nodes: not listed yet"), errors.New("persistentvolumes: forbidden: no"))
	uncertified = errors.New("the serving certificate expired")
	s.ready.draining.Store(true)
	code, body = fetch(t, s.MetricsHandler(), "/readyz")
	assert.Equal(t, 503, code)
	assert.Equal(t, "shutting down\nnodes: not listed yet\npersistentvolumes: forbidden: no\ncertificate: the serving certificate expired\n", body)

	code, _ = fetch(t, s.MetricsHandler(), "/livez")
	assert.Equal(t, 200, code, "it lives all the same")
	code, body = fetch(t, s.MetricsHandler(), "/metrics")
	assert.Equal(t, 200, code)
	assert.Contains(t, body, "berth_admission_requests_total")
	code, _ = fetch(t, s.MetricsHandler(), "/mutate")
	assert.Equal(t, 404, code)
	w := post(s.MetricsHandler(), "/readyz", "")
	assert.Equal(t, 405, w.Code)
	assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
}

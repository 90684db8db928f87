package webhook

import (
	"cmp"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"

	"berth.dev/berth/webhook/admission"
)

// failing makes a server's requests fail for one cause.
type failing struct {
	prepare     func(*Config)
	body        io.Reader
	contentType string // JSON's if it is empty
	code        int
	closes      bool // the connection, on which a body may be unread
}

// failures has a request for every cause.
func failures() map[cause]failing {
	text := func(s string) io.Reader { return strings.NewReader(s) }
	return map[cause]failing{
		causeNotReady: {code: 503, closes: true, body: text("{}"),
			prepare: func(c *Config) { c.Synced = func() error { return errors.New("nodes: not listed yet") } }},
		causeBusy: {code: 503, closes: true, body: &endless{},
			prepare: func(c *Config) { c.MaxRequestBytes = 2 * heldMax }},
		causeTooLarge:    {code: 413, closes: true, body: &endless{}},
		causeSlow:        {code: 408, closes: true, body: iotest.ErrReader(os.ErrDeadlineExceeded)},
		causeIncomplete:  {code: 400, body: iotest.ErrReader(io.ErrUnexpectedEOF)},
		causeContentType: {code: 415, body: text("{}"), contentType: "text/xml"},
		causeMalformed:   {code: 400, body: text("garbage")},
		causeInternal: {code: 500, body: text("{}"),
			prepare: func(c *Config) {
				c.Pipeline.decode = func([]byte) (*admission.Request, error) { panic("decode is broken") }
			}},
	}
}

func TestEveryFailureIsCountedByItsCause(t *testing.T) {
	cases := failures()
	assert.Len(t, cases, len(codes), "a cause has no request here")
	for why, tc := range cases {
		t.Run(string(why), func(t *testing.T) {
			c := configOf(pipelineOf(emptyView{}, nil))
			if tc.prepare != nil {
				tc.prepare(&c)
			}
			w := postTyped(NewServer(c).AdmissionHandler(), cmp.Or(tc.contentType, "application/json"), tc.body, -1)
			assert.Equal(t, tc.code, w.Code, w.Body.String())
			assert.Equal(t, tc.closes, w.Header().Get("Connection") == "close")
			for name, value := range seriesOf(t, c.Metrics) {
				if strings.HasPrefix(name, "berth_http_errors_total") {
					assert.Equal(t, name == `berth_http_errors_total{cause="`+string(why)+`"}`, value == 1, name)
				}
			}
		})
	}
}

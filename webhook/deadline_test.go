package webhook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBudget(t *testing.T) {
	cases := map[string]struct {
		query string
		want  time.Duration
	}{
		"without a query, three seconds":                             {"", 3 * time.Second},
		"without the parameter, three seconds":                       {"other=5s", 3 * time.Second},
		"a malformed time-out is as if absent":                       {"timeout=soon", 3 * time.Second},
		"a number without a unit is as if absent":                    {"timeout=5", 3 * time.Second},
		"an empty time-out is as if absent":                          {"timeout=", 3 * time.Second},
		"a time-out of nothing is as if absent":                      {"timeout=0s", 3 * time.Second},
		"a negative time-out is as if absent":                        {"timeout=-5s", 3 * time.Second},
		"a query that can't be parsed is as if absent":               {"timeout=5s;%zz", 3 * time.Second},
		"the API server's default of ten seconds gives three":        {"timeout=10s", 3 * time.Second},
		"five seconds give three":                                    {"timeout=5s", 3 * time.Second},
		"three and a half seconds give two and a half":               {"timeout=3500ms", 2500 * time.Millisecond},
		"two seconds give one, which is both a second less and half": {"timeout=2s", time.Second},
		"one second gives half of it":                                {"timeout=1s", 500 * time.Millisecond},
		"a tenth of a second gives half of it":                       {"timeout=100ms", 50 * time.Millisecond},
		"an hour gives three seconds":                                {"timeout=1h", 3 * time.Second},
		"the first of several counts":                                {"timeout=2s&timeout=9s", time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, budget(tc.query)) })
	}
}

package webhook

import (
	"net/url"
	"strings"
	"time"
)

const (
	// maxBudget bounds the live reads of one request: a creator should not
	// wait longer for an answer that only says "try again".
	maxBudget = 3 * time.Second
	// answerReserve is what is left of the API server's time-out for the way
	// back. The API server sends its time-out as the parameter "timeout"
	// (plugin/webhook in k8s.io/apiserver).
	answerReserve = time.Second
)

// budget is how long the live reads of a request may take: its "timeout"
// parameter less a second, but at least half of it, and three seconds at most.
// A time-out that is missing, malformed or not positive counts as absent.
func budget(query string) time.Duration {
	timeout := timeoutOf(query)
	if timeout <= 0 {
		return maxBudget
	}
	return min(max(timeout-answerReserve, timeout/2), maxBudget)
}

// timeoutOf is the "timeout" parameter of a raw query, 0 if there is none to go by.
func timeoutOf(query string) time.Duration {
	value, alone := strings.CutPrefix(query, "timeout=") // as the API server writes it
	if !alone || strings.ContainsAny(value, "&;%+") {
		values, err := url.ParseQuery(query)
		if err != nil {
			return 0
		}
		value = values.Get("timeout")
	}
	timeout, err := time.ParseDuration(value)
	if err != nil {
		return 0
	}
	return timeout
}

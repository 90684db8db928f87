package lookup

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"

	"berth.dev/berth/webhook/claim"
)

const (
	// liveTimeout bounds one call: no review waits longer for its reads.
	liveTimeout = 3 * time.Second
	// liveFanOut is how many questions of one decision are asked at a time, and
	// liveCalls how many calls of all decisions together are under way.
	liveFanOut = 8
	liveCalls  = 64
)

// Live answers questions from the API server. It can be used by many at once.
type Live struct {
	client  kubernetes.Interface
	keys    claim.Keys
	observe func(resource, result string)
	shared  *sharing[claim.Question, claim.Answer]
	calls   chan struct{} // holds one for each call under way
}

// NewLive makes a Live. The client should be of a configuration of its own,
// see [LiveConfig]. After each API call observe (nil for none) is told the
// resource, one of [Resources], and the result: ok, notfound or error.
func NewLive(client kubernetes.Interface, rules *claim.Rules, observe func(resource, result string)) *Live {
	return newLive(client, rules, observe, liveTimeout)
}

func newLive(client kubernetes.Interface, rules *claim.Rules, observe func(resource, result string), timeout time.Duration) *Live {
	if observe == nil {
		observe = func(string, string) {}
	}
	l := &Live{client: client, keys: rules.Keys, observe: observe, calls: make(chan struct{}, liveCalls)}
	l.shared = newSharing(timeout, l.answer)
	return l
}

// Read answers the questions, each from a call that was sent after Read
// began. Questions about names that no object can have are answered without a
// call. If one can't be answered, none is: the error names its resource.
func (l *Live) Read(ctx context.Context, questions []claim.Question) (claim.Facts, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // of two failures only the first is of interest
	facts := make(claim.Facts, len(questions))
	var asked []claim.Question
	for _, q := range questions {
		if _, twice := facts[q]; twice {
			continue
		}
		facts[q] = claim.Answer{}
		if l.canExist(q) {
			asked = append(asked, q)
		}
	}
	calls := plan(asked)
	answered := make(chan reply, len(calls))
	free := make(chan struct{}, liveFanOut)
	for call := range calls {
		go func() {
			free <- struct{}{}
			defer func() { <-free }()
			a, err := l.shared.ask(ctx, call)
			answered <- reply{call, a, err}
		}()
	}
	for range calls {
		r := <-answered
		if r.err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", subject(r.question), withoutURL(r.err))
		}
		if isBulk(r.question) {
			spread(calls[r.question], r.answer, facts)
		} else {
			facts[r.question] = r.answer
		}
	}
	return facts, nil
}

// reply is what became of one question.
type reply struct {
	question claim.Question
	answer   claim.Answer
	err      error
}

// answer makes the call for one question.
func (l *Live) answer(ctx context.Context, q claim.Question) (claim.Answer, error) {
	select {
	case l.calls <- struct{}{}:
		defer func() { <-l.calls }()
	case <-ctx.Done():
		return claim.Answer{}, ctx.Err()
	}
	a, err := l.call(ctx, q)
	switch {
	case apierrors.IsNotFound(err):
		l.observe(resourceOf(q.Kind), "notfound")
		return claim.Answer{}, nil
	case err != nil:
		l.observe(resourceOf(q.Kind), "error")
		return claim.Answer{}, err
	}
	l.observe(resourceOf(q.Kind), "ok")
	return a, nil
}

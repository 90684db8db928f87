package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// maxRounds bounds the live reads of one decision (design 3.9). A decision
// asks for little in each round; one that still asks after four is chasing a
// cluster that changes faster than it can be read.
const maxRounds = 4

// errUnstable is why a decision gives up after maxRounds.
var errUnstable = errors.New("the cluster kept changing while it was read")

// Views gives the current picture of the cluster.
type Views interface {
	View() claim.View
}

// LiveReader reads from the API server what a decision can't take from the
// View. It answers all questions or fails.
type LiveReader interface {
	Read(ctx context.Context, questions []claim.Question) (claim.Facts, error)
}

// Pipeline turns the bytes of an AdmissionReview into the bytes of its answer.
// It is safe for concurrent use.
type Pipeline struct {
	views  Views
	rules  *claim.Rules
	live   LiveReader
	decode func(body []byte) (*admission.Request, error)
	decide func(road admission.Road, req *admission.Request, reads *claim.Reads) admission.Decision
}

// NewPipeline makes a pipeline over the views of a cluster. A nil live reader
// means that the View is the whole truth, as a cluster file is.
func NewPipeline(views Views, rules *claim.Rules, live LiveReader) *Pipeline {
	return &Pipeline{views: views, rules: rules, live: live, decode: admission.DecodeReview, decide: admission.Decide}
}

// Outcome is what became of one review, for logs, metrics and tools.
type Outcome struct {
	Request  *admission.Request // nil if the body could not be decoded
	Decision admission.Decision
	Rounds   int         // rounds of live reads
	Err      error       // why the cluster could not be read, if so
	Panic    *PanicError // the bug that was met, if any
}

// PanicError is a panic that was caught while a review was worked on.
type PanicError struct {
	Value any    // what was panicked with
	Stack []byte // where, as runtime/debug.Stack gives it
}

// Error says what was panicked with, without the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Review decides one AdmissionReview: it decides over the View, reads live what
// the decision doubts, and decides again until nothing is in doubt. Live reads
// end at the deadline.
//
// The error is nil whenever there is an answer. Otherwise the body is no
// review, or a bug was met before its uid was known (*PanicError).
func (p *Pipeline) Review(ctx context.Context, road admission.Road, body []byte, deadline time.Time) (answer []byte, out Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			out.Panic = &PanicError{Value: v, Stack: debug.Stack()}
			answer, err = out.rescue()
		}
	}()
	if out.Request, err = p.decode(body); err != nil {
		return nil, out, err
	}
	var facts claim.Facts
	for {
		reads := claim.NewReads(p.views.View(), p.rules, facts)
		out.Decision = p.decide(road, out.Request, reads)
		doubts := reads.Unsettled()
		if p.live == nil || len(doubts) == 0 {
			break
		}
		if facts, out.Err = p.settle(ctx, deadline, &out.Rounds, facts, doubts); out.Err != nil {
			out.Decision = admission.Unreadable(out.Request, out.Err)
			break
		}
	}
	return out.Decision.Respond(out.Request), out, nil
}

// settle reads live what is in doubt and adds it to the facts.
func (p *Pipeline) settle(ctx context.Context, deadline time.Time, rounds *int, facts claim.Facts, doubts []claim.Question) (claim.Facts, error) {
	if *rounds == maxRounds {
		return nil, errUnstable
	}
	*rounds++
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	more, err := p.live.Read(ctx, doubts)
	if err != nil {
		return nil, err
	}
	if facts == nil {
		return more, nil
	}
	facts = maps.Clone(facts)
	maps.Copy(facts, more)
	return facts, nil
}

// rescue answers a review that met a bug. Without a request there is no uid to
// answer to, so the bug itself is the error.
func (o *Outcome) rescue() ([]byte, error) {
	if o.Request == nil {
		return nil, o.Panic
	}
	o.Decision = admission.Crashed(o.Request)
	return o.Decision.Respond(o.Request), nil
}

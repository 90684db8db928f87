package lookup

import (
	"context"
	"log/slog"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ResourceState says why a resource is not synced.
type ResourceState struct {
	Resource string // plural, for example persistentvolumeclaims
	Reason   string // one line, for example "forbidden: …" or "not listed yet"
}

// The calls by which an informer learns of a resource.
const (
	verbList  = "list"
	verbWatch = "watch"
)

// state is what became of an informer's calls for one resource.
type state struct {
	resource string
	log      *slog.Logger

	mu      sync.Mutex
	listed  bool
	failing map[string]error    // by verb
	told    map[string]struct{} // what the log knows since the last recovery
}

func newState(resource string, log *slog.Logger) *state {
	return &state{resource: resource, log: log, failing: map[string]error{}, told: map[string]struct{}{}}
}

// failed notes that a call failed, and logs it unless a failure of that verb
// and class was logged since all was well.
func (s *state) failed(ctx context.Context, verb string, err error) {
	if ctx.Err() != nil || expected(verb, err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing[verb] = err
	key := verb + " " + failureClass(err)
	if _, known := s.told[key]; known {
		return
	}
	s.told[key] = struct{}{}
	s.log.Warn("cannot read the cluster", "resource", s.resource, "verb", verb, "reason", failureText(err))
}

// expected tells whether a failure belongs to the protocol: the reflector
// answers it by listing again (an old resource version, or a server that
// can't stream lists), and only a failure of that is one.
func expected(verb string, err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || verb == verbWatch && apierrors.IsInvalid(err)
}

// succeeded notes that a verb works, and logs it where that ends the trouble.
func (s *state) succeeded(verb string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recover(verb)
}

// recover forgets the failure of a verb. The caller holds the lock.
func (s *state) recover(verb string) {
	if len(s.failing) == 0 {
		return
	}
	delete(s.failing, verb)
	if len(s.failing) == 0 {
		clear(s.told)
		s.log.Info("the cluster can be read again", "resource", s.resource)
	}
}

// replaced notes that the Store holds everything a list gave.
func (s *state) replaced() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recover(verbList) // a streamed list is one, too
	if !s.listed {
		s.listed = true
		s.log.Info("resource synced", "resource", s.resource)
	}
}

// synced tells whether the resource was listed once.
func (s *state) synced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// unsynced says why the resource is not synced; false if it is.
func (s *state) unsynced() (ResourceState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reason := "not listed yet"
	for _, verb := range []string{verbWatch, verbList} {
		if err := s.failing[verb]; err != nil {
			reason = failureText(err)
		}
	}
	return ResourceState{Resource: s.resource, Reason: reason}, !s.listed
}

package lookup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

func forbidden(verb, resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", fmt.Errorf("User %q cannot %s it", "berth", verb))
}

func TestFailureTextSaysWhatKindOfFailure(t *testing.T) {
	const base = `Get "https://10.0.0.1:6443/api/v1/nodes?limit=500": `
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"RBAC": {forbidden("list", "nodes"), `forbidden: nodes is forbidden: User "berth" cannot list it`},
		"no server behind the address, and the URL is left out": {
			&url.Error{Op: "Get", URL: base, Err: syscall.ECONNREFUSED}, "unreachable: connection refused"},
		"a server that gives no answer in time": {
			&url.Error{Op: "Get", URL: base, Err: context.DeadlineExceeded}, "timed out: context deadline exceeded"},
		"a bad token":       {apierrors.NewUnauthorized("no"), "unauthorized: no"},
		"too many calls":    {apierrors.NewTooManyRequests("later", 1), "throttled: later"},
		"a broken server":   {apierrors.NewInternalError(errors.New("etcd")), "refused: Internal error occurred: etcd"},
		"text of two lines": {errors.New("one\n  two"), "failed: one two"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, failureText(test.err)) })
	}
}

func TestUnsyncedInformersSayWhyAndRecover(t *testing.T) {
	for name, streams := range map[string]bool{"streamed lists": true, "lists": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newAPIServer(t, streams)
			server.put(false, apiPVC("ml", "x-a", "x", "a"))
			server.with(func(s *apiServer) {
				s.refuse["list persistentvolumeclaims"] = forbidden("list", "persistentvolumeclaims")
				s.refuse["watch persistentvolumeclaims"] = forbidden("watch", "persistentvolumeclaims")
			})
			store, _ := defaultStore()
			log := &journal{}
			in := NewInformers(server.client(t, InformerConfig), store, slog.New(log))
			require.ErrorContains(t, in.Synced(), "nodes: not listed yet; persistentvolumeclaims: not listed yet; ")
			run(t, in)
			want := `persistentvolumeclaims: forbidden: persistentvolumeclaims is forbidden: User "berth" cannot list it`
			require.Eventually(t, func() bool { return in.Synced() != nil && in.Synced().Error() == want }, soon, tick)
			assert.Equal(t, map[string]bool{
				"nodes": true, "persistentvolumeclaims": false, "persistentvolumes": true, "storageclasses": true,
			}, in.States())
			assert.Len(t, in.Unsynced(), 1)

			seen := server.count("list persistentvolumeclaims")
			require.Eventually(t, func() bool { return server.count("list persistentvolumeclaims") > seen+1 }, soon, tick)
			assert.Len(t, log.with("WARN", "resource=persistentvolumeclaims", "verb=list"), 1, "once, not for each retry")

			server.with(func(s *apiServer) { clear(s.refuse) })
			require.Eventually(t, func() bool { return in.Synced() == nil }, soon, tick)
			assert.Empty(t, in.Unsynced())
			assert.NotNil(t, store.View().PVC("ml", "x-a"))
			require.Eventually(t, func() bool { return len(log.with("INFO", "read again", "persistentvolumeclaims")) == 1 }, soon, tick)
		})
	}
}

func TestInformersWaitForAServerThatIsDown(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, true)
	var up atomic.Bool
	client := server.client(t, func(c *rest.Config) *rest.Config {
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if !up.Load() {
				return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		return InformerConfig(c)
	})
	store, _ := defaultStore()
	in := NewInformers(client, store, slog.New(&journal{}))
	run(t, in)
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(in.Unsynced(), func(r ResourceState) bool {
			return r.Reason != "unreachable: dial tcp: connection refused"
		})
	}, soon, tick)
	assert.Len(t, in.Unsynced(), 4)
	up.Store(true)
	require.Eventually(t, func() bool { return in.Synced() == nil }, soon, tick)
}

// A service account that may list but not watch: Berth works from lists, and
// says so once.
func TestListWithoutWatchIsToldOnce(t *testing.T) {
	t.Parallel()
	server := newAPIServer(t, true)
	server.with(func(s *apiServer) { s.refuse["watch nodes"] = forbidden("watch", "nodes") })
	store, _ := defaultStore()
	log := &journal{}
	in := NewInformers(server.client(t, InformerConfig), store, slog.New(log))
	run(t, in)
	require.Eventually(t, func() bool { return in.Synced() == nil }, soon, tick)
	server.put(true, apiNode("late", nil))
	require.Eventually(t, func() bool { return store.View().Node("late") != nil }, soon, tick)
	assert.Len(t, log.with("WARN", "resource=nodes"), 1)
	assert.Empty(t, log.with("read again"))
}

func TestStateTellsEachTroubleOnce(t *testing.T) {
	ctx := t.Context()
	log := &journal{}
	s := newState("nodes", slog.New(log))
	for range 3 {
		s.failed(ctx, verbWatch, forbidden("watch", "nodes"))
		s.failed(ctx, verbList, forbidden("list", "nodes"))
		s.failed(ctx, verbList, &url.Error{Err: syscall.ECONNREFUSED})
	}
	assert.Len(t, log.with("WARN"), 3, "two verbs are forbidden, and one is unreachable")
	r, unsynced := s.unsynced()
	assert.Equal(t, ResourceState{Resource: "nodes", Reason: "unreachable: connection refused"}, r)
	assert.True(t, unsynced)

	s.replaced()
	assert.True(t, s.synced())
	assert.Empty(t, log.with("read again"), "watching still fails")
	s.succeeded(verbWatch)
	s.succeeded(verbWatch)
	assert.Len(t, log.with("read again"), 1)
	s.failed(ctx, verbList, forbidden("list", "nodes"))
	assert.Len(t, log.with("WARN"), 4, "after a recovery it is news")
}

func TestStatePassesOverWhatIsNoTrouble(t *testing.T) {
	log := &journal{}
	s := newState("nodes", slog.New(log))
	ended, end := context.WithCancel(t.Context())
	end()
	s.failed(ended, verbList, errors.New("the process stops"))
	s.failed(t.Context(), verbWatch, apierrors.NewResourceExpired("too old"))
	s.failed(t.Context(), verbWatch, apierrors.NewInvalid(schema.GroupKind{}, "sendInitialEvents", nil))
	assert.Empty(t, log.with("WARN"))
	r, _ := s.unsynced()
	assert.Equal(t, "not listed yet", r.Reason)
}

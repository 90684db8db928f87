package lookup

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	k8stesting "k8s.io/client-go/testing"

	"berth.dev/berth/webhook/claim"
)

// slowServer answers every Get of a Node when it is let through.
type slowServer struct {
	*httptest.Server
	pass    chan struct{}
	calls   atomic.Int64
	running atomic.Int64
	most    atomic.Int64 // calls at a time
	request atomic.Pointer[http.Request]
}

func newSlowServer(t *testing.T) *slowServer {
	s := &slowServer{pass: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *slowServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.calls.Add(1)
	s.request.Store(r)
	now := s.running.Add(1)
	for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
	}
	defer s.running.Add(-1)
	select {
	case <-s.pass:
		_ = writeJSON(w, apiNode("a", nil))
	case <-r.Context().Done():
	}
}

func (s *slowServer) live(t *testing.T, timeout time.Duration) *Live {
	client, err := kubernetes.NewForConfig(LiveConfig(&rest.Config{Host: s.URL}))
	require.NoError(t, err)
	rules := claim.DefaultRules()
	return newLive(client, &rules, nil, timeout)
}

func askNodes(n int) []claim.Question {
	var out []claim.Question
	for i := range n {
		out = append(out, claim.Question{Kind: claim.AskNode, Name: fmt.Sprintf("n%d", i)})
	}
	return out
}

// askPVs are questions of which each is a call of its own, however many.
func askPVs(n int) []claim.Question {
	var out []claim.Question
	for i := range n {
		out = append(out, claim.Question{Kind: claim.AskPV, Name: fmt.Sprintf("v%d", i)})
	}
	return out
}

func TestLiveReviewsShareCalls(t *testing.T) {
	server := newSlowServer(t)
	live := server.live(t, time.Minute)
	var readers sync.WaitGroup
	for range 100 {
		readers.Go(func() {
			_, err := live.Read(t.Context(), askNodes(1))
			assert.NoError(t, err)
		})
	}
	require.Eventually(t, func() bool { return waiting(live.shared, askNodes(1)[0]) == 99 }, soon, tick)
	close(server.pass)
	readers.Wait()
	assert.EqualValues(t, 2, server.calls.Load())
	assert.Equal(t, "berth/live", server.request.Load().UserAgent())
	assert.Equal(t, "application/vnd.kubernetes.protobuf,application/json", server.request.Load().Header.Get("Accept"))
}

func TestLiveAsksAFewQuestionsAtATime(t *testing.T) {
	server := newSlowServer(t)
	live := server.live(t, time.Minute)
	done := make(chan error, 1)
	go func() {
		_, err := live.Read(t.Context(), askPVs(20))
		done <- err
	}()
	require.Eventually(t, func() bool { return server.running.Load() == liveFanOut }, soon, tick)
	close(server.pass)
	require.NoError(t, <-done)
	assert.EqualValues(t, liveFanOut, server.most.Load())
	assert.EqualValues(t, 20, server.calls.Load())
}

func TestLiveReaderThatGivesUpReturnsAtOnce(t *testing.T) {
	server := newSlowServer(t)
	live := server.live(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := live.Read(ctx, askPVs(20))
		done <- err
	}()
	require.Eventually(t, func() bool { return server.running.Load() == liveFanOut }, soon, tick)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled) // the server still blocks
	close(server.pass)
	require.Eventually(t, func() bool { return server.running.Load() == 0 }, soon, tick)
	assert.EqualValues(t, liveFanOut, server.calls.Load(), "nothing more is asked for who has gone")
}

func TestLiveCallEndsWhenTheServerDoesNotAnswer(t *testing.T) {
	server := newSlowServer(t)
	_, err := server.live(t, 20*time.Millisecond).Read(t.Context(), askNodes(1))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.EqualError(t, err, `cannot read nodes "n0": context deadline exceeded`)
	require.Eventually(t, func() bool { return server.running.Load() == 0 }, soon, tick)
}

// Whatever a server takes the selector "k=" for: this one takes none.
func TestLiveTakesOnlyNodesThatBearTheLabel(t *testing.T) {
	server := newAPIServer(t, true)
	server.put(false, apiNode("none", nil), apiNode("other", map[string]string{"k": "v"}), apiNode("empty", map[string]string{"k": ""}))
	rules := claim.DefaultRules()
	q := claim.Question{Kind: claim.AskNodesByLabel, Name: "k"}
	facts, err := NewLive(server.client(t, LiveConfig), &rules, nil).Read(t.Context(), []claim.Question{q})
	require.NoError(t, err)
	assert.Equal(t, []string{"node empty"}, described(facts[q]))
}

// The informers stall: their watch is open and says nothing. What they don't
// know yet, a live read does.
func TestLiveIsAheadOfStalledInformers(t *testing.T) {
	client := fake.NewClientset(apiNode("a", nil), apiPVC("ml", "x-a", "x", "a"))
	client.PrependWatchReactor("persistentvolumeclaims", func(k8stesting.Action) (bool, watch.Interface, error) {
		return true, watch.NewFake(), nil
	})
	store, rules := defaultStore()
	in := NewInformers(client, store, slog.New(&journal{}))
	run(t, in)
	require.Eventually(t, func() bool { return in.Synced() == nil }, soon, tick)
	relabelled := apiPVC("ml", "x-a", "x", "c")
	for _, obj := range []runtime.Object{apiPVC("ml", "x-b", "x", "b"), relabelled} {
		gvr := corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
		if err := client.Tracker().Update(gvr, obj, "ml"); err != nil {
			require.NoError(t, client.Tracker().Create(gvr, obj, "ml"))
		}
	}
	stale := claim.NewReads(store.View(), rules, nil)
	assert.Equal(t, []string{"a"}, stale.Holders("ml", "x"))
	assert.Nil(t, stale.PVC("ml", "x-b"))

	stale.DoubtAll()
	facts, err := NewLive(client, rules, nil).Read(t.Context(), stale.Unsettled())
	require.NoError(t, err)
	fresh := claim.NewReads(store.View(), rules, facts)
	assert.Equal(t, []string{"b", "c"}, fresh.Holders("ml", "x"))
	assert.Equal(t, "b", fresh.PVC("ml", "x-b").Node)
	assert.Empty(t, fresh.NodePVCs("ml", "x", "a"))
}

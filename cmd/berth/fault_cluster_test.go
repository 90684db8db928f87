package main

import (
	"encoding/json"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kjson "sigs.k8s.io/json"
)

// What may be the matter with watches.
const (
	watchesWork   = ""
	watchesSilent = "silent"  // they hang, and no event comes
	watchesLag    = "lagging" // events come late
	watchesClose  = "closed"  // they end as soon as they begin
	watchesExpire = "expired" // they end with 410: too old a version
)

const watchLag = 400 * time.Millisecond

// faultyCluster is an API server that changes, breaks and comes back: lists,
// gets, and watches from a version.
type faultyCluster struct {
	address string

	mu        sync.Mutex
	server    *http.Server // nil while it is gone
	version   int
	objects   map[string]map[string]any // by path and name
	events    []clusterEvent
	changed   chan struct{} // closed at the next change
	forbidden map[string]bool
	watches   string
}

// clusterEvent is one change, for watches.
type clusterEvent struct {
	version int
	at      time.Time
	list    string // path of the list of all namespaces
	kind    string
	object  map[string]any
}

func newFaultyCluster(t *testing.T, documents ...string) *faultyCluster {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &faultyCluster{
		address: listener.Addr().String(), objects: map[string]map[string]any{},
		changed: make(chan struct{}), forbidden: map[string]bool{},
	}
	c.serve(listener)
	t.Cleanup(c.goAway)
	c.put(t, documents...)
	return c
}

func (c *faultyCluster) serve(listener net.Listener) {
	server := &http.Server{Handler: c, ReadHeaderTimeout: waitFor}
	c.set(func() { c.server = server })
	go func() { _ = server.Serve(listener) }()
}

// goAway closes the port and every connection.
func (c *faultyCluster) goAway() {
	c.mu.Lock()
	server := c.server
	c.mu.Unlock()
	_ = server.Close()
}

// comeBack listens on the same port.
func (c *faultyCluster) comeBack(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", c.address)
	require.NoError(t, err)
	c.serve(listener)
}

// set changes something that watches should look at.
func (c *faultyCluster) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// put creates or replaces objects.
func (c *faultyCluster) put(t *testing.T, documents ...string) {
	t.Helper()
	c.apply(t, documents, func(key string, object map[string]any) string {
		_, there := c.objects[key]
		c.objects[key] = object
		if there {
			return "MODIFIED"
		}
		return "ADDED"
	})
}

// remove deletes objects.
func (c *faultyCluster) remove(t *testing.T, documents ...string) {
	t.Helper()
	c.apply(t, documents, func(key string, _ map[string]any) string {
		delete(c.objects, key)
		return "DELETED"
	})
}

func (c *faultyCluster) apply(t *testing.T, documents []string, do func(key string, object map[string]any) (event string)) {
	t.Helper()
	manifests, errs := readManifests([]byte(joinDocs(documents...)), "cluster")
	require.Empty(t, errs)
	for _, m := range manifests {
		var object map[string]any
		require.NoError(t, kjson.UnmarshalCaseSensitivePreserveInts(m.raw, &object))
		c.set(func() {
			c.version++
			object["metadata"].(map[string]any)["resourceVersion"] = strconv.Itoa(c.version)
			kind := do(m.path()+"/"+m.name(), object)
			list := strings.Replace(m.path(), "namespaces/"+m.head.Metadata.Namespace+"/", "", 1)
			c.events = append(c.events, clusterEvent{c.version, time.Now(), list, kind, object})
		})
	}
}

// ServeHTTP is part of [http.Handler].
func (c *faultyCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	base := path.Base(r.URL.Path)
	kind, isList := kinds()[base]
	c.mu.Lock()
	forbidden := c.forbidden[base]
	object := c.objects[r.URL.Path]
	c.mu.Unlock()
	switch {
	case forbidden:
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "may not read "+base)
	case query.Get("sendInitialEvents") != "":
		fail(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "can't stream lists")
	case query.Get("watch") != "":
		c.watch(w, r)
	case isList:
		c.list(w, r, kind)
	case object != nil:
		write(w, http.StatusOK, object)
	default:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, base+" not found")
	}
}

func (c *faultyCluster) list(w http.ResponseWriter, r *http.Request, kind string) {
	selector, _ := labels.Parse(r.URL.Query().Get("labelSelector"))
	base, version := path.Base(r.URL.Path), "v1"
	if base == "storageclasses" {
		version = "storage.k8s.io/v1"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	items := []any{}
	for at, object := range c.objects {
		list := path.Dir(at)
		everywhere := path.Base(list) == base && !strings.Contains(r.URL.Path, "/namespaces/")
		metadata, _ := json.Marshal(object["metadata"])
		var head struct{ Labels map[string]string }
		_ = json.Unmarshal(metadata, &head)
		if (everywhere || list == r.URL.Path) && selector.Matches(labels.Set(head.Labels)) {
			items = append(items, object)
		}
	}
	write(w, http.StatusOK, map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]string{"resourceVersion": strconv.Itoa(c.version)}, "items": items})
}

// watch sends events until the client goes, or what is the matter ends it.
func (c *faultyCluster) watch(w http.ResponseWriter, r *http.Request) {
	last, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for out := json.NewEncoder(w); ; {
		c.mu.Lock()
		events, changed, matter := c.since(last, r.URL.Path), c.changed, c.watches
		c.mu.Unlock()
		switch matter {
		case watchesClose:
			return
		case watchesExpire:
			_ = out.Encode(map[string]any{"type": "ERROR", "object": metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
				Reason: metav1.StatusReasonExpired, Code: http.StatusGone, Message: "too old resource version",
			}})
			return
		}
		for _, e := range events {
			last = e.version
			_ = out.Encode(map[string]any{"type": e.kind, "object": e.object})
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-time.After(watchLag / 8): // some event may be late enough by now
		case <-r.Context().Done():
			return
		}
	}
}

// since are the events that a watch gets now. The caller holds the lock.
func (c *faultyCluster) since(version int, list string) []clusterEvent {
	var out []clusterEvent
	for _, e := range c.events {
		late := c.watches == watchesSilent || c.watches == watchesLag && time.Since(e.at) < watchLag
		if e.version > version && e.list == list && !late {
			out = append(out, e)
		}
	}
	return out
}

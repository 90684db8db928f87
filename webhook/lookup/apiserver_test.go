package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// apiServer is as much of an API server as reflectors use: lists in pages,
// watches from a resource version, streamed lists, expiry and refusals.
type apiServer struct {
	*httptest.Server
	streams bool // it can stream lists (sendInitialEvents)

	mu        sync.Mutex
	version   int
	compacted int // watches from before this version have expired
	objects   map[string]map[string]runtime.Object
	events    []apiEvent
	changed   chan struct{}    // closed at the next change
	refuse    map[string]error // by "verb resource"
	calls     map[string]int   // by "verb resource"; streamed lists are "stream resource"
	agent     string           // User-Agent of the last call
}

type apiEvent struct {
	version  int
	resource string
	kind     watch.EventType
	object   runtime.Object
}

func newAPIServer(t *testing.T, streams bool) *apiServer {
	s := &apiServer{
		streams: streams, version: 10, objects: map[string]map[string]runtime.Object{},
		changed: make(chan struct{}), refuse: map[string]error{}, calls: map[string]int{},
	}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *apiServer) client(t *testing.T, config func(*rest.Config) *rest.Config) kubernetes.Interface {
	client, err := kubernetes.NewForConfig(config(&rest.Config{Host: s.URL}))
	require.NoError(t, err)
	return client
}

// with changes the server's settings.
func (s *apiServer) with(f func(*apiServer)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *apiServer) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

func resourceOfObject(obj runtime.Object) string {
	switch obj.(type) {
	case *corev1.Node:
		return resourceNodes
	case *corev1.PersistentVolumeClaim:
		return resourcePVCs
	case *corev1.PersistentVolume:
		return resourcePVs
	case *storagev1.StorageClass:
		return resourceStorageClasses
	}
	panic(fmt.Sprintf("no resource for %T", obj))
}

// put creates or updates objects; silently keeps it from the watches.
func (s *apiServer) put(silently bool, objs ...runtime.Object) {
	for _, obj := range objs {
		s.apply(obj, watch.Modified, silently)
	}
}

func (s *apiServer) remove(silently bool, objs ...runtime.Object) {
	for _, obj := range objs {
		s.apply(obj, watch.Deleted, silently)
	}
}

func (s *apiServer) apply(obj runtime.Object, kind watch.EventType, silently bool) {
	s.with(func(s *apiServer) {
		obj = obj.DeepCopyObject()
		resource := resourceOfObject(obj)
		if s.objects[resource] == nil {
			s.objects[resource] = map[string]runtime.Object{}
		}
		accessor, _ := meta.Accessor(obj)
		key := accessor.GetNamespace() + "/" + accessor.GetName()
		s.version++
		accessor.SetResourceVersion(strconv.Itoa(s.version))
		if _, there := s.objects[resource][key]; !there && kind == watch.Modified {
			kind = watch.Added
		}
		s.objects[resource][key] = obj
		if kind == watch.Deleted {
			delete(s.objects[resource], key)
		}
		if !silently {
			s.events = append(s.events, apiEvent{s.version, resource, kind, obj})
		}
	})
}

// compact ends every watch with 410: whoever reads has to list again.
func (s *apiServer) compact() {
	s.with(func(s *apiServer) {
		s.version++
		s.compacted, s.events = s.version, nil
	})
}

// ServeHTTP answers lists and watches of the four resources.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	query := r.URL.Query()
	call, verb := "list", "list"
	if query.Get("watch") != "" {
		call, verb = "watch", "watch"
	}
	if query.Get("sendInitialEvents") == "true" {
		call = "stream"
	}
	s.mu.Lock()
	s.calls[call+" "+resource]++
	s.agent = r.UserAgent()
	refused := s.refuse[verb+" "+resource]
	s.mu.Unlock()
	switch {
	case refused != nil:
		writeStatus(w, refused)
	case call == "list":
		s.serveList(w, resource, query.Get("limit"), query.Get("continue"))
	case call == "stream" && !s.streams:
		writeStatus(w, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil))
	default:
		s.serveWatch(w, r, resource, call == "stream")
	}
}

var kindOf = map[string]string{
	resourceNodes: "Node", resourcePVCs: "PersistentVolumeClaim",
	resourcePVs: "PersistentVolume", resourceStorageClasses: "StorageClass",
}

func writeStatus(w http.ResponseWriter, err error) {
	out := apierrors.NewInternalError(err).Status()
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		out = status.Status()
	}
	out.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(out.Code))
	_ = json.NewEncoder(w).Encode(out)
}

func (s *apiServer) sorted(resource string) []runtime.Object {
	var out []runtime.Object
	for _, obj := range s.objects[resource] {
		out = append(out, obj)
	}
	slices.SortFunc(out, func(a, b runtime.Object) int {
		x, _ := meta.Accessor(a)
		y, _ := meta.Accessor(b)
		return strings.Compare(x.GetName(), y.GetName())
	})
	return out
}

func (s *apiServer) serveList(w http.ResponseWriter, resource, limit, from string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := s.sorted(resource)
	start, _ := strconv.Atoi(from)
	items = items[min(start, len(items)):]
	list := map[string]any{"apiVersion": "v1", "kind": kindOf[resource] + "List"}
	if resource == resourceStorageClasses {
		list["apiVersion"] = "storage.k8s.io/v1"
	}
	head := map[string]any{"resourceVersion": strconv.Itoa(s.version)}
	if n, _ := strconv.Atoi(limit); !s.streams && n > 0 && len(items) > 2 { // a page has two objects
		items = items[:2]
		head["continue"] = strconv.Itoa(start + 2)
	}
	list["metadata"], list["items"] = head, items
	_ = writeJSON(w, list)
}

func writeJSON(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	err := json.NewEncoder(w).Encode(v)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	return err
}

// serveWatch sends the events since a version until the client goes.
func (s *apiServer) serveWatch(w http.ResponseWriter, r *http.Request, resource string, stream bool) {
	last, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	s.mu.Lock()
	var first []any
	if stream {
		first, last = s.initial(resource), s.version
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	for {
		s.mu.Lock()
		events, changed, expired := first, s.changed, last < s.compacted
		for _, e := range s.events {
			if e.resource == resource && e.version > last {
				events = append(events, map[string]any{"type": e.kind, "object": e.object})
			}
		}
		first, last = nil, s.version
		s.mu.Unlock()
		if expired {
			status := apierrors.NewResourceExpired("too old").Status()
			status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
			_ = writeJSON(w, map[string]any{"type": watch.Error, "object": status})
			return
		}
		for _, e := range events {
			_ = writeJSON(w, e)
		}
		w.(http.Flusher).Flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// initial is a streamed list. The caller holds the lock.
func (s *apiServer) initial(resource string) []any {
	var out []any
	for _, obj := range s.sorted(resource) {
		out = append(out, map[string]any{"type": watch.Added, "object": obj})
	}
	mark := map[string]runtime.Object{
		resourceNodes: &corev1.Node{}, resourcePVCs: &corev1.PersistentVolumeClaim{},
		resourcePVs: &corev1.PersistentVolume{}, resourceStorageClasses: &storagev1.StorageClass{},
	}[resource]
	setType(mark)
	accessor, _ := meta.Accessor(mark)
	accessor.SetResourceVersion(strconv.Itoa(s.version))
	accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return append(out, map[string]any{"type": watch.Bookmark, "object": mark})
}

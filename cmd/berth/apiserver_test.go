package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// apiServer is as much of an API server as informers and live reads need: it
// has no object, and forbids everything until it is allowed.
type apiServer struct {
	*httptest.Server
	allowed atomic.Bool
	gets    atomic.Int64 // reads of single objects, which only live reads make
}

// kinds are the lists that it serves.
func kinds() map[string]string {
	return map[string]string{
		"nodes": "NodeList", "persistentvolumeclaims": "PersistentVolumeClaimList",
		"persistentvolumes": "PersistentVolumeList", "storageclasses": "StorageClassList",
	}
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	a := &apiServer{}
	a.Server = httptest.NewServer(a)
	t.Cleanup(func() {
		a.CloseClientConnections() // watches hang on them
		a.Close()
	})
	return a
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	kind, isList := kinds()[path.Base(r.URL.Path)]
	switch {
	case !a.allowed.Load():
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, "may not read "+path.Base(r.URL.Path))
	case query.Get("sendInitialEvents") != "":
		fail(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "can't stream lists")
	case query.Get("watch") != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case isList:
		version := "v1"
		if strings.HasPrefix(r.URL.Path, "/apis/storage.k8s.io/") {
			version = "storage.k8s.io/v1"
		}
		write(w, http.StatusOK, map[string]any{"kind": kind, "apiVersion": version, "metadata": map[string]string{"resourceVersion": "1"}, "items": []any{}})
	default:
		a.gets.Add(1)
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, "not found")
	}
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	write(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: reason, Code: int32(code), Message: message,
	})
}

func write(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

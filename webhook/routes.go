package webhook

import (
	"net/http"

	"github.com/gorilla/mux"

	"berth.dev/berth/webhook/admission"
)

// admissionRoutes answers POST on each road, and says of everything else what
// is wrong with it.
func admissionRoutes(roads map[admission.Road]http.Handler) http.Handler {
	router := newRouter(http.MethodPost, "not found: POST to /mutate or /validate")
	for road, handler := range roads {
		router.Handle("/"+string(road), handler).Methods(http.MethodPost)
	}
	return router
}

// metricsRoutes answers what kubelets and Prometheus ask.
func metricsRoutes(ready, metrics http.Handler) http.Handler {
	router := newRouter("GET, HEAD", "not found: GET /livez, /readyz or /metrics")
	get := func(path string, h http.Handler) {
		router.Handle(path, h).Methods(http.MethodGet, http.MethodHead)
	}
	get("/livez", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeLine(w, http.StatusOK, "ok") }))
	get("/readyz", ready)
	get("/metrics", metrics)
	return router
}

// newRouter is a router that answers an unknown path or method with one line.
// Paths are taken as they are: an admission request must not be redirected.
func newRouter(allow, notFound string) *mux.Router {
	router := mux.NewRouter().SkipClean(true)
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeLine(w, http.StatusNotFound, notFound)
	})
	router.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allow)
		writeLine(w, http.StatusMethodNotAllowed, "method not allowed: use "+allow)
	})
	return router
}

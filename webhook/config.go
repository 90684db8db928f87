package webhook

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"berth.dev/berth/webhook/admission"
)

// Config is what a Server is made of.
type Config struct {
	Pipeline *Pipeline
	Metrics  *Metrics
	Log      *slog.Logger
	// TLS is the admission server's configuration; HTTP/2 is spoken if its
	// NextProtos has h2.
	TLS *tls.Config
	// Synced is nil once the whole cluster has been read. Errors joined in it
	// (errors.Join) are told apart. A nil function: there is nothing to read.
	Synced func() error
	// Certificate is nil while there is a certificate to serve with. A nil
	// function: there always is.
	Certificate func() error
	// MaxRequestBytes bounds a request's body.
	MaxRequestBytes int64
	// ShutdownDelay is how long the server goes on answering, not ready, before
	// it drains: the time that endpoints need to learn that it goes.
	ShutdownDelay time.Duration
}

// Time-outs of the servers. The API server keeps connections for 90 s
// (IdleConnTimeout in k8s.io/apimachinery/pkg/util/net); it must be the side
// that closes, or a review could meet a connection that is just being closed.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 120 * time.Second
	maxHeaderBytes    = 64 << 10
)

// roadsOf are the handlers of both roads.
func roadsOf(c *Config, ready *readiness) map[admission.Road]http.Handler {
	pool := &bodies{}
	roads := map[admission.Road]http.Handler{}
	for _, road := range []admission.Road{admission.Mutate, admission.Validate} {
		roads[road] = &reviewHandler{
			road: road, pipeline: c.Pipeline, limit: c.MaxRequestBytes,
			bodies: pool, ready: ready, metrics: c.Metrics, log: c.Log,
		}
	}
	return roads
}

// httpServer is a server with every time-out set. What net/http has to say
// (handshakes of scanners, mostly) is logged at debug.
func httpServer(handler http.Handler, tlsConfig *tls.Config, log *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(tlsConfig != nil && slices.Contains(tlsConfig.NextProtos, "h2"))
	return &http.Server{
		Handler: handler, TLSConfig: tlsConfig, Protocols: protocols,
		ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

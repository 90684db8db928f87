package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// drainTimeout bounds how long requests under way are waited for once the
// listener is closed.
const drainTimeout = 10 * time.Second

// Server is the admission server and the metrics server.
type Server struct {
	admission *http.Server
	metrics   *http.Server
	ready     *readiness
	delay     time.Duration
	drain     time.Duration
	log       *slog.Logger
}

// NewServer puts the servers together; Run starts them.
func NewServer(c Config) *Server {
	ready := &readiness{cluster: c.Synced, certificate: c.Certificate}
	return &Server{
		admission: httpServer(admissionRoutes(roadsOf(&c, ready)), c.TLS, c.Log),
		metrics:   httpServer(metricsRoutes(ready, c.Metrics.Handler()), nil, c.Log),
		ready:     ready, delay: c.ShutdownDelay, drain: drainTimeout, log: c.Log,
	}
}

// AdmissionHandler is what the admission server answers with, for tests and
// benchmarks that bring their own server.
func (s *Server) AdmissionHandler() http.Handler { return s.admission.Handler }

// MetricsHandler is what the metrics server answers with.
func (s *Server) MetricsHandler() http.Handler { return s.metrics.Handler }

// Run serves on the two listeners until the context is done, then drains: not
// ready at once, but answering for the shutdown delay; then no new connections,
// and a bounded wait for what is under way. It returns nil after that, and
// an error if a server stopped by itself. It closes the listeners.
func (s *Server) Run(ctx context.Context, admissionListener, metricsListener net.Listener) error {
	failed := make(chan error, 2)
	go func() {
		failed <- fmt.Errorf("serve admission: %w", s.admission.ServeTLS(admissionListener, "", ""))
	}()
	go func() { failed <- fmt.Errorf("serve metrics: %w", s.metrics.Serve(metricsListener)) }()
	s.log.Info("serving", "address", admissionListener.Addr().String(), "metricsAddress", metricsListener.Addr().String())

	// The metrics server goes last: probes and scrapes see the drain.
	defer func() { _ = s.metrics.Close() }()
	defer func() { _ = s.admission.Close() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return s.shutDown(ctx, failed)
}

// shutDown drains the admission server. The context is done already.
func (s *Server) shutDown(ctx context.Context, failed <-chan error) error {
	s.ready.draining.Store(true)
	s.log.Info("shutting down: still answering, no longer ready", "delay", s.delay.String())
	delay := time.NewTimer(s.delay)
	defer delay.Stop()
	select {
	case err := <-failed:
		return err
	case <-delay.C:
	}
	// From here on idle connections are closed. Those in use were asked to
	// close with every answer of the delay, so their clients have gone already.
	s.admission.SetKeepAlivesEnabled(false)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.drain)
	defer cancel()
	if err := s.admission.Shutdown(ctx); err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("shut down: %w", err)
		}
		s.log.Warn("requests were cut off: they took longer than the drain", "timeout", s.drain.String())
	}
	s.log.Info("shut down")
	return nil
}

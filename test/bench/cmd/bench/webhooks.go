package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"berth.dev/berth/test/bench/cluster"
	"berth.dev/berth/test/bench/load"
	"berth.dev/berth/test/bench/world"
)

// hook is a webhook that runs as a process.
type hook struct {
	*cluster.Process
	load.Target
}

// url is where an API server reaches it.
func (h *hook) url(path string) string { return "https://" + h.Address + path }

// place is where webhooks run.
type place struct {
	folder string
	cert   *cluster.Certificate
	// pinned gives each process the second core alone: the load has the first.
	pinned bool
	env    []string
}

func newPlace(folder string) (*place, error) {
	cert, err := cluster.NewCertificate(folder)
	return &place{folder: folder, cert: cert}, err
}

// start starts a program that will serve on a port.
func (p *place) start(name string, port int, path, program string, args ...string) (*hook, error) {
	env := p.env
	if p.pinned {
		program, args = "taskset", append([]string{"--cpu-list", "1", program}, args...)
		env = append(env, "GOMAXPROCS=1")
	}
	process, err := cluster.Start(p.folder, name, env, program, args...)
	if err != nil {
		return nil, err
	}
	return &hook{process, load.Target{Address: loopback(port), Path: path, CAs: p.cert.Pool()}}, nil
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// startBerth starts the real program and waits until it is ready. from says where
// it reads the cluster.
func (b *bench) startBerth(ctx context.Context, p *place, from ...string) (*hook, error) {
	port, err := cluster.FreePort()
	if err != nil {
		return nil, err
	}
	probes, err := cluster.FreePort()
	if err != nil {
		return nil, err
	}
	h, err := p.start("berth", port, "/mutate", b.program("berth"), append([]string{
		"serve", "--bind-address=" + loopback(port), "--metrics-bind-address=" + loopback(probes), "--log-format=json",
		"--tls-cert-file=" + p.cert.CertFile, "--tls-private-key-file=" + p.cert.KeyFile, "--shutdown-delay-duration=0s",
	}, from...)...)
	if err != nil {
		return nil, err
	}
	err = h.Until(ctx, func(ctx context.Context) error { return cluster.IsOK(ctx, "http://"+loopback(probes)+"/readyz") })
	if err != nil {
		h.Stop()
		return nil, err
	}
	return h, nil
}

// startCommonWay starts the common way and waits until it serves: it does once its
// cache is filled.
func (b *bench) startCommonWay(ctx context.Context, p *place, from ...string) (*hook, error) {
	port, err := cluster.FreePort()
	if err != nil {
		return nil, err
	}
	return serving(ctx)(p.start("commonway", port, "/mutate", b.program("commonway"),
		append([]string{fmt.Sprintf("--port=%d", port), "--certs=" + p.cert.Folder}, from...)...))
}

// startFloor starts the bare server.
func (b *bench) startFloor(ctx context.Context, p *place, more ...string) (*hook, error) {
	port, err := cluster.FreePort()
	if err != nil {
		return nil, err
	}
	return serving(ctx)(p.start("floor", port, "/", b.program("floor"),
		append([]string{"--address=" + loopback(port), "--cert=" + p.cert.CertFile, "--key=" + p.cert.KeyFile}, more...)...))
}

// serving waits until a webhook takes connections.
func serving(ctx context.Context) func(*hook, error) (*hook, error) {
	return func(h *hook, err error) (*hook, error) {
		if err != nil {
			return nil, err
		}
		err = h.Until(ctx, func(ctx context.Context) error {
			dialer := tls.Dialer{NetDialer: &net.Dialer{}, Config: &tls.Config{RootCAs: h.CAs, MinVersion: tls.VersionTLS13}}
			conn, err := dialer.DialContext(ctx, "tcp", h.Address)
			if err == nil {
				err = conn.Close()
			}
			return err
		})
		if err != nil {
			h.Stop()
			return nil, err
		}
		return h, nil
	}
}

// writeWorld writes a world as a cluster file.
func writeWorld(folder string, w world.World) (string, error) {
	list := &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	var err error
	add := func(object any) {
		raw, encodeErr := json.Marshal(object)
		if encodeErr != nil {
			err = encodeErr
		}
		list.Items = append(list.Items, runtime.RawExtension{Raw: raw})
	}
	for n := range w.Nodes {
		add(world.Node(n))
	}
	w.EachClaim(func(claim, node int) {
		add(world.PVC(claim, node))
		add(world.PV(claim, node))
	})
	if err != nil {
		return "", fmt.Errorf("encode the world: %w", err)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("encode the world: %w", err)
	}
	file := filepath.Join(folder, "cluster.json")
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		return "", fmt.Errorf("write the world: %w", err)
	}
	return file, nil
}

package cluster

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"berth.dev/berth/test/bench/world"
)

// token lets everybody in who reads it on this machine, for as long as the cluster
// lives.
const token = "bench"

// Cluster is a control plane without nodes that run anything.
type Cluster struct {
	// Kubeconfig is the file of an administrator.
	Kubeconfig string

	programs, folder string
	processes        []*Process
	etcd, api        int // ports
}

// New starts an etcd and a kube-apiserver whose programs are in one folder, and
// which keep their files in another. The world is there when the API server starts.
func New(ctx context.Context, programs, folder string, w world.World) (*Cluster, error) {
	c := &Cluster{programs: programs, folder: folder, Kubeconfig: filepath.Join(folder, "kubeconfig")}
	steps := []func(context.Context) error{
		c.writeFiles, c.startEtcd,
		func(ctx context.Context) error { return fill(ctx, c.etcdURL(), w) },
		c.startAPIServer,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			c.Stop()
			return nil, err
		}
	}
	return c, nil
}

// Stop ends the processes, the last one first.
func (c *Cluster) Stop() {
	for len(c.processes) > 0 {
		last := len(c.processes) - 1
		c.processes[last].Stop()
		c.processes = c.processes[:last]
	}
}

func (c *Cluster) start(name, program string, args ...string) (*Process, error) {
	p, err := Start(c.folder, name, nil, filepath.Join(c.programs, program), args...)
	if err == nil {
		c.processes = append(c.processes, p)
	}
	return p, err
}

func (c *Cluster) file(name string) string { return filepath.Join(c.folder, name) }

func (c *Cluster) etcdURL() string { return fmt.Sprintf("http://127.0.0.1:%d", c.etcd) }

// writeFiles writes what the API server reads.
func (c *Cluster) writeFiles(context.Context) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return fmt.Errorf("make the key of ServiceAccounts: %w", err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return errors.Join(
		os.WriteFile(c.file("service-account.key"), pem.EncodeToMemory(block), 0o600),
		os.WriteFile(c.file("tokens.csv"), []byte(token+",admin,admin,system:masters\n"), 0o600),
	)
}

func (c *Cluster) startEtcd(ctx context.Context) error {
	peer, err := FreePort()
	if err != nil {
		return err
	}
	if c.etcd, err = FreePort(); err != nil {
		return err
	}
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
	p, err := c.start("etcd", "etcd", "--data-dir="+c.file("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+c.etcdURL(), "--advertise-client-urls="+c.etcdURL(),
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL,
		"--quota-backend-bytes=8589934592")
	if err != nil {
		return err
	}
	return p.Until(ctx, func(ctx context.Context) error { return IsOK(ctx, c.etcdURL()+"/health") })
}

func (c *Cluster) startAPIServer(ctx context.Context) error {
	var err error
	if c.api, err = FreePort(); err != nil {
		return err
	}
	p, err := c.start("kube-apiserver", "kube-apiserver",
		"--etcd-servers="+c.etcdURL(), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.api), "--cert-dir="+c.file("apiserver"), "--endpoint-reconciler-type=none",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+c.file("service-account.key"),
		"--service-account-signing-key-file="+c.file("service-account.key"), "--token-auth-file="+c.file("tokens.csv"),
		"--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.96.0.0/16", "--allow-privileged=true")
	if err != nil {
		return err
	}
	if err := p.Until(ctx, func(context.Context) error {
		_, err := os.Stat(c.file("apiserver/apiserver.crt"))
		return err
	}); err != nil {
		return err
	}
	if err := c.writeKubeconfig(); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	return p.Until(ctx, func(ctx context.Context) error {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

func (c *Cluster) writeKubeconfig() error {
	config := clientcmdapi.NewConfig()
	config.Clusters["bench"] = &clientcmdapi.Cluster{
		Server: fmt.Sprintf("https://127.0.0.1:%d", c.api), CertificateAuthority: c.file("apiserver/apiserver.crt"),
	}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["bench"] = &clientcmdapi.Context{Cluster: "bench", AuthInfo: "admin"}
	config.CurrentContext = "bench"
	if err := clientcmd.WriteToFile(*config, c.Kubeconfig); err != nil {
		return fmt.Errorf("write the kubeconfig: %w", err)
	}
	return nil
}

// StartDaemonSetController starts a kube-controller-manager that runs the DaemonSet
// controller alone. Its own rate limit is out of the way.
func (c *Cluster) StartDaemonSetController() error {
	port, err := FreePort()
	if err != nil {
		return err
	}
	_, err = c.start("kube-controller-manager", "kube-controller-manager", "--controllers=daemonset-controller",
		"--kubeconfig="+c.Kubeconfig, "--authentication-kubeconfig="+c.Kubeconfig, "--authorization-kubeconfig="+c.Kubeconfig,
		"--leader-elect=false", "--kube-api-qps=10000", "--kube-api-burst=10000", "--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", port), "--cert-dir="+c.file("controller-manager"))
	return err
}

// Config is an administrator's, without a rate limit.
func (c *Cluster) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// Client is an administrator's.
func (c *Cluster) Client() (*kubernetes.Clientset, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

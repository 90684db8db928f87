package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// controlPlane is what Down stops besides the nodes, in the order of the start.
var controlPlane = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "cert-manager"}

// startTimeout is how long one part of the cluster may take to become ready.
const startTimeout = 2 * time.Minute

// startControlPlane starts etcd, the API server and its two controllers, and
// returns once the API server is ready.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	if err := c.writeTokens(); err != nil {
		return err
	}
	if err := c.writeServiceAccountKey(); err != nil {
		return err
	}
	if err := c.start("etcd", c.program("etcd"), "--data-dir="+c.state("etcd"), "--unsafe-no-fsync", "--log-level=warn"); err != nil {
		return err
	}
	if err := c.start("kube-apiserver", c.program("kube-apiserver"), c.apiServerFlags()...); err != nil {
		return err
	}
	if err := waitFor(ctx, startTimeout, c.certificateWritten); err != nil {
		return c.seeLog("kube-apiserver", err)
	}
	if err := c.writeKubeconfigs(); err != nil {
		return err
	}
	if err := waitFor(ctx, startTimeout, c.apiServerReady); err != nil {
		return c.seeLog("kube-apiserver", err)
	}
	if err := c.start("kube-controller-manager", c.program("kube-controller-manager"), c.controllerManagerFlags()...); err != nil {
		return err
	}
	return c.start("kube-scheduler", c.program("kube-scheduler"), c.controllerFlags("kube-scheduler")...)
}

func (c *Cluster) apiServerFlags() []string {
	return []string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--advertise-address=" + apiAddress,
		// The port of its Service, so that the Service's address needs no translation.
		"--secure-port=443",
		"--cert-dir=" + c.state("apiserver"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.serviceAccountKey(),
		"--service-account-signing-key-file=" + c.serviceAccountKey(),
		"--token-auth-file=" + c.tokenFile(),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--service-cluster-ip-range=" + serviceCIDR,
		"--kubelet-preferred-address-types=InternalIP",
		// Webhooks are reached at their pods' addresses, as there is no kube-proxy.
		"--enable-aggregator-routing=true",
		"--allow-privileged=true",
		// The big DaemonSet's nodes, volumes and pods are deleted as collections.
		"--delete-collection-workers=16",
	}
}

func (c *Cluster) controllerManagerFlags() []string {
	return append(c.controllerFlags("kube-controller-manager"),
		"--root-ca-file="+c.apiCertificate(),
		"--service-account-private-key-file="+c.serviceAccountKey(),
		"--use-service-account-credentials=true",
		// The scheduler's test makes Node objects that no kubelet reports for.
		"--node-monitor-grace-period=24h",
		"--cert-dir="+c.state("controller-manager"),
	)
}

func (c *Cluster) controllerFlags(name string) []string {
	kubeconfig := c.kubeconfigOf(name)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--leader-elect=false",
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}
}

func (c *Cluster) certificateWritten(context.Context) error {
	if err := c.alive("kube-apiserver"); err != nil {
		return err
	}
	_, err := os.Stat(c.apiCertificate())
	return err
}

func (c *Cluster) apiServerReady(ctx context.Context) error {
	if err := c.alive("kube-apiserver"); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	_, err = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

func (c *Cluster) alive(name string) error {
	if !c.running(name) {
		return fmt.Errorf("%s has ended", name)
	}
	return nil
}

func (c *Cluster) seeLog(name string, err error) error {
	return fmt.Errorf("%s: %w; see %s", name, err, c.Log(name))
}

// Config is an administrator's, without a rate limit. Warnings are dropped: kubectl
// shows them where they matter.
func (c *Cluster) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig (is the cluster up?): %w", err)
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

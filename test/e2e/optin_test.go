//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestANamespaceThatHasNotOptedInIsNotTouched(t *testing.T) {
	t.Parallel()
	n := newNamespaceLabelled(t, nil)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	out := n.apply(deployment(1, reader("model-cache")), pod("bare", onHost(reader("model-cache"), "node-a")))
	assert.NotContains(t, out, "Warning")
	assert.Equal(t, "model-cache", mounted(n.pod("bare"), "cache"))
	assert.NotContains(t, n.pod("bare").Annotations, "berth.dev/node-pvcs")
}

func TestKubeSystemAndBerthsOwnNamespaceAreNotTouchedEvenWhenTheyAreLabelled(t *testing.T) {
	t.Parallel()
	c, client, err := theCluster()
	require.NoError(t, err)
	for _, name := range []string{"kube-system", "berth-system"} {
		n := &namespace{t: t, name: name, cluster: c, client: client}
		n.must("label", "namespace", name, optIn+"=enabled", "--overwrite")
		t.Cleanup(func() { n.must("label", "namespace", name, optIn+"-") })
		template := reader("model-cache")
		restrict(&template)
		n.created(nodePVC("model-cache", "node-a"))
		t.Cleanup(func() { n.must("delete", "pvc", "model-cache-node-a") })
		out, err := n.kubectl(manifest(t, pod("e2e-untouched", onHost(template, "node-a"))), "create", "--dry-run=server", "-o", "yaml", "-f", "-")
		require.NoError(t, err, out)
		assert.Contains(t, out, "claimName: model-cache\n")
		assert.NotContains(t, out, "berth.dev/node-pvcs")
	}
}

// restrict gives a template what the restricted Pod Security level asks.
func restrict(template *corev1.PodTemplateSpec) {
	template.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(65532)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	template.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

func TestAnExemptPodIsNotTouched(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	exempt := onHost(reader("model-cache"), "node-a")
	exempt.Labels = map[string]string{optIn: "disabled"}
	n.apply(pod("exempt", exempt))
	assert.Equal(t, "model-cache", mounted(n.pod("exempt"), "cache"))
}

func TestANamespaceWithBerthsObjectsCanBeDeleted(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.apply(daemonSet(reader("model-cache")))
	require.Eventually(t, func() bool { return len(n.pods()) == 2 }, patience, interval)
	n.must("delete", "namespace", n.name, "--wait=false")
	require.Eventually(t, func() bool {
		_, err := n.client.CoreV1().Namespaces().Get(t.Context(), n.name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, patience, interval, "the namespace stays")
	// The cleanup deletes it again, which must not fail.
	_, err := n.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n.name}}, metav1.CreateOptions{})
	require.NoError(t, err)
}

func TestWithoutBerthOnlyPodsWithPVCsInOptedInNamespacesAreHeldAndTheyComeBackWithIt(t *testing.T) {
	n, other := newNamespace(t), newNamespaceLabelled(t, nil)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	other.pvc("plain", "node-a", "the bytes of node-a")
	n.apply(daemonSet(reader("model-cache")))
	before := n.awaitPods(2)

	n.scaleBerth("0")
	t.Cleanup(func() { n.scaleBerth("2") })
	n.must("delete", "pods", "--all", "--wait=false")
	out := n.refused(pod("held", onHost(reader("model-cache"), "node-a")))
	assert.Contains(t, out, `failed calling webhook "pods.berth.dev"`)
	bare := pod("no-volumes", reader("model-cache"))
	bare.Spec.Volumes, bare.Spec.Containers[0].VolumeMounts, bare.Spec.Containers[0].Args = nil, nil, []string{"pause"}
	n.apply(bare)
	n.awaitReady("no-volumes")
	n.must("delete", "pod", "no-volumes")
	n.apply(deployment(1, onHost(reader("model-cache"), "node-a"))) // workloads go on; their pods are held
	other.apply(pod("reader", onHost(reader("plain"), "node-a")))
	other.assertReadOn(*other.awaitReady("reader"), "node-a")

	n.scaleBerth("2")
	// The ReplicaSet comes back by itself within seconds. The DaemonSet's controller
	// would, too, but every event during the outage has doubled its back-off, up to 17
	// minutes: an event of the DaemonSet's own ends it.
	require.Eventually(t, func() bool { return len(n.pods()) > 0 }, patience, interval, "the Deployment stays held")
	n.must("annotate", "daemonset/reader", "e2e/berth=back")
	after := n.awaitPods(3)
	for _, pod := range after {
		assert.NotEqual(t, before[0].UID, pod.UID)
		n.assertReadOn(pod, pod.Spec.NodeName)
	}
}

// scaleBerth waits until the API server finds that many replicas.
func (n *namespace) scaleBerth(replicas string) {
	n.t.Helper()
	n.must("-n", "berth-system", "scale", "deployment/berth", "--replicas="+replicas)
	n.must("-n", "berth-system", "rollout", "status", "deployment/berth", "--timeout=2m")
	require.Eventually(n.t, func() bool {
		out := n.must("-n", "berth-system", "get", "pods", "--no-headers", "-o", "name", "--ignore-not-found")
		return replicas != "0" || out == ""
	}, patience, interval, "Berth's pods stay")
}

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"berth.dev/berth/test/e2e/cluster"
)

// namespace is where one test works; it goes, with its volumes, when the test ends.
type namespace struct {
	t       *testing.T
	name    string
	cluster *cluster.Cluster
	client  *kubernetes.Clientset
}

// newNamespace makes a namespace that has opted in.
func newNamespace(t *testing.T) *namespace {
	return newNamespaceLabelled(t, map[string]string{optIn: "enabled"})
}

func newNamespaceLabelled(t *testing.T, labels map[string]string) *namespace {
	t.Helper()
	c, client, err := theCluster()
	require.NoError(t, err)
	made, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: labels},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	n := &namespace{t: t, name: made.Name, cluster: c, client: client}
	t.Cleanup(func() {
		if t.Failed() {
			n.tell()
		}
		err := client.CoreV1().Namespaces().Delete(context.Background(), n.name, metav1.DeleteOptions{})
		require.NoError(t, err)
	})
	n.awaitServiceAccount()
	return n
}

// awaitServiceAccount waits for what pods need before they can be created at all.
func (n *namespace) awaitServiceAccount() {
	n.t.Helper()
	require.Eventually(n.t, func() bool {
		_, err := n.client.CoreV1().ServiceAccounts(n.name).Get(n.t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, patience, interval, "no default ServiceAccount in %s", n.name)
}

// tell prints what a failed test left.
func (n *namespace) tell() {
	for _, args := range [][]string{{"get", "pods,pvc", "-o", "wide"}, {"get", "events"}} {
		out, _ := n.kubectl("", args...)
		n.t.Logf("kubectl %v:\n%s", args, out)
	}
}

// kubectl runs kubectl in the namespace and returns all that it printed.
func (n *namespace) kubectl(stdin string, args ...string) (string, error) {
	cmd := exec.Command(n.cluster.Kubectl(), append([]string{"--kubeconfig", n.cluster.Kubeconfig(), "-n", n.name}, args...)...)
	cmd.Stdin = bytes.NewBufferString(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must runs kubectl, which has to succeed.
func (n *namespace) must(args ...string) string {
	n.t.Helper()
	out, err := n.kubectl("", args...)
	require.NoError(n.t, err, "kubectl %v: %s", args, out)
	return out
}

// apply applies objects as a user does, and returns what kubectl printed.
func (n *namespace) apply(objects ...runtime.Object) string {
	n.t.Helper()
	out, err := n.kubectl(manifest(n.t, objects...), "apply", "-f", "-")
	require.NoError(n.t, err, "kubectl apply: %s", out)
	return out
}

// refused applies objects, which has to fail, and returns what kubectl printed.
func (n *namespace) refused(objects ...runtime.Object) string {
	n.t.Helper()
	out, err := n.kubectl(manifest(n.t, objects...), "apply", "-f", "-")
	require.Error(n.t, err, "kubectl apply: %s", out)
	return out
}

// manifest writes objects as YAML documents.
func manifest(t *testing.T, objects ...runtime.Object) string {
	t.Helper()
	var text bytes.Buffer
	for _, object := range objects {
		kinds, _, err := scheme.Scheme.ObjectKinds(object)
		require.NoError(t, err)
		object.GetObjectKind().SetGroupVersionKind(kinds[0])
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		require.NoError(t, err)
		delete(fields, "status") // which no user writes, and a second apply would change
		document, err := yaml.Marshal(fields)
		require.NoError(t, err)
		text.WriteString("---\n")
		text.Write(document)
	}
	return text.String()
}

// directory makes a directory of a node that holds one file, note.
func (n *namespace) directory(node, name, text string) string {
	n.t.Helper()
	dir := filepath.Join(n.cluster.Data(node), n.name, name)
	require.NoError(n.t, os.MkdirAll(dir, 0o755))
	if text != "" {
		require.NoError(n.t, os.WriteFile(filepath.Join(dir, "note"), []byte(text), 0o644))
	}
	return dir
}

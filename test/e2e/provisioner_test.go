//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"berth.dev/berth/test/e2e/cluster"
)

const (
	// provisionedClass waits for its first consumer; startProvisioner serves it.
	provisionedClass = "e2e-provisioned"
	provisionerName  = "e2e.berth.dev/directories"
)

func TestANodePVCIsProvisionedOnItsNodeBeforeAnyPodAndADaemonSetReadsIt(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	nobodys := nodePVC("", "")
	nobodys.Name, nobodys.Labels, nobodys.Spec.StorageClassName = "nobodys", nil, new(provisionedClass)
	n.apply(nobodys)
	for _, node := range []string{"node-a", "node-b"} {
		n.apply(provisionedPVC("model-cache", node))
	}
	for _, node := range []string{"node-a", "node-b"} {
		n.awaitPhase("model-cache-"+node, corev1.ClaimBound)
		assert.Equal(t, node, n.annotationOf("model-cache-"+node, selectedNode))
		assert.Equal(t, []string{node}, n.hostsOf("model-cache-"+node))
	}
	assert.Empty(t, n.pods())
	// A PVC like them that is no node PVC waits for a pod, as its class says.
	assert.Empty(t, n.annotationOf("nobodys", selectedNode))
	assert.Equal(t, corev1.ClaimPending, n.phase("nobodys"))

	n.apply(daemonSet(reader("model-cache")))
	n.assertEachReadsItsOwn(n.awaitPods(2))
}

func provisionedPVC(claim, node string) *corev1.PersistentVolumeClaim {
	pvc := nodePVC(claim, node)
	pvc.Spec.StorageClassName = new(provisionedClass)
	return pvc
}

// hostsOf are the hostnames that the PVC's volume admits.
func (n *namespace) hostsOf(pvc string) []string {
	n.t.Helper()
	got, err := n.client.CoreV1().PersistentVolumeClaims(n.name).Get(n.t.Context(), pvc, metav1.GetOptions{})
	require.NoError(n.t, err)
	pv, err := n.client.CoreV1().PersistentVolumes().Get(n.t.Context(), got.Spec.VolumeName, metav1.GetOptions{})
	require.NoError(n.t, err)
	terms := pv.Spec.NodeAffinity.Required.NodeSelectorTerms
	require.Len(n.t, terms, 1)
	require.Len(n.t, terms[0].MatchExpressions, 1)
	assert.Equal(n.t, corev1.LabelHostname, terms[0].MatchExpressions[0].Key)
	return terms[0].MatchExpressions[0].Values
}

func (n *namespace) phase(pvc string) corev1.PersistentVolumeClaimPhase {
	n.t.Helper()
	got, err := n.client.CoreV1().PersistentVolumeClaims(n.name).Get(n.t.Context(), pvc, metav1.GetOptions{})
	require.NoError(n.t, err)
	return got.Status.Phase
}

func (n *namespace) awaitPhase(pvc string, phase corev1.PersistentVolumeClaimPhase) {
	n.t.Helper()
	require.Eventually(n.t, func() bool { return n.phase(pvc) == phase }, patience, interval, "PVC %s is not %s", pvc, phase)
}

// startProvisioner serves provisionedClass while the tests run. It must come before
// them: the library writes to client-go's scheme, which they read.
func startProvisioner(ctx context.Context, c *cluster.Cluster) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	retries := workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 5*time.Second)
	quiet := klog.NewContext(ctx, klog.Logger{}) // its events on the PVC say what goes wrong
	go controller.NewProvisionController(quiet, client, provisionerName, directories{c},
		controller.LeaderElection(false), controller.RateLimiter(retries)).Run(quiet)
	return nil
}

// directories makes volumes that are a directory of the selected node, with a note.
type directories struct{ cluster *cluster.Cluster }

// ShouldProvision leaves PVCs with a data source to its populator, as the
// external-provisioner of CSI drivers does.
func (directories) ShouldProvision(_ context.Context, pvc *corev1.PersistentVolumeClaim) bool {
	return pvc.Spec.DataSourceRef == nil
}

// Provision makes the directory and describes its volume, any number of times.
func (d directories) Provision(_ context.Context, options controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	node := options.SelectedNodeName
	if node == "" {
		return nil, controller.ProvisioningFinished, fmt.Errorf("PVC %s has no selected node", options.PVC.Name)
	}
	dir := filepath.Join(d.cluster.Data(node), options.PVName)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	if err := os.WriteFile(filepath.Join(dir, "note"), []byte("the bytes of "+node), 0o644); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      options.PVC.Spec.Resources.Requests,
			AccessModes:                   options.PVC.Spec.AccessModes,
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: dir}},
			NodeAffinity:                  onlyHost(node),
		},
	}, controller.ProvisioningFinished, nil
}

// Delete removes the directory of a volume that was released.
func (d directories) Delete(_ context.Context, pv *corev1.PersistentVolume) error {
	return os.RemoveAll(pv.Spec.Local.Path)
}

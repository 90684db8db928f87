//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.dev/berth/test/e2e/cluster"
)

const (
	// patience is how long a condition may take on a busy machine.
	patience = 2 * time.Minute
	interval = 100 * time.Millisecond

	optIn      = "berth.dev/admission"
	localClass = "e2e-local"
	// waitingClass has a provisioner that nobody runs: what it would do is asked of
	// it by the selected-node annotation alone.
	waitingClass = "e2e-waiting"
)

func TestMain(m *testing.M) {
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: the cluster can't be reached, start it with `go run ./cmd/cluster up`:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// theCluster returns the cluster of this checkout and its administrator.
func theCluster() (*cluster.Cluster, *kubernetes.Clientset, error) {
	c, err := cluster.New("../..", io.Discard)
	if err != nil {
		return nil, nil, err
	}
	client, err := c.Client()
	return c, client, err
}

// prepare makes the StorageClasses that the tests share, and starts the provisioner
// of one of them.
func prepare(ctx context.Context) error {
	c, client, err := theCluster()
	if err != nil {
		return err
	}
	waits := storagev1.VolumeBindingWaitForFirstConsumer
	for name, provisioner := range map[string]string{
		localClass:       "kubernetes.io/no-provisioner",
		waitingClass:     "e2e.berth.dev/none",
		provisionedClass: provisionerName,
	} {
		class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &waits}
		_, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return startProvisioner(ctx, c)
}

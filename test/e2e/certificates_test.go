//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheCertificateAndItsCAAreRenewedUnderLoadWithoutAFailedCallOrARestart(t *testing.T) {
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	stop := n.load()
	replicas := n.berthPods()
	require.Len(t, replicas, 2)

	n.renew("berth-serving")
	n.renew("berth-ca")
	n.renew("berth-serving") // now signed by the renewed CA

	calls, failures := stop()
	assert.Empty(t, failures)
	assert.Greater(t, calls, 100)
	for i, pod := range n.berthPods() {
		assert.Equal(t, replicas[i].UID, pod.UID)
		assert.Zero(t, pod.Status.ContainerStatuses[0].RestartCount)
	}
}

// load asks for pods, as dry runs, until it is stopped; then it returns the number of
// calls and those that failed.
func (n *namespace) load() (stop func() (calls int, failures []error)) {
	ctx, cancel := context.WithCancel(n.t.Context())
	n.t.Cleanup(cancel)
	calls, failures, done := 0, []error{}, make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			calls++
			if err := n.askForPod(); err != nil {
				failures = append(failures, err)
			}
		}
	}()
	return func() (int, []error) {
		cancel()
		<-done
		return calls, failures
	}
}

// renew asks cert-manager to issue a Certificate again, as its command line does,
// and waits until the Secret is new and, for the leaf, until both replicas serve it.
func (n *namespace) renew(certificate string) {
	n.t.Helper()
	revision := n.must("-n", "berth-system", "get", "certificate", certificate, "-o", "jsonpath={.status.revision}")
	before := n.expiries()
	patch := fmt.Sprintf(`{"status":{"conditions":[{"type":"Issuing","status":"True","reason":"ManuallyTriggered","message":"e2e","lastTransitionTime":%q}]}}`,
		time.Now().UTC().Format(time.RFC3339))
	n.must("-n", "berth-system", "patch", "certificate", certificate, "--subresource=status", "--type=merge", "-p", patch)
	require.Eventually(n.t, func() bool {
		now := n.must("-n", "berth-system", "get", "certificate", certificate, "-o", "jsonpath={.status.revision}")
		return now != revision
	}, patience, time.Second, "certificate %s is not renewed", certificate)
	if certificate == "berth-ca" {
		return
	}
	require.Eventually(n.t, func() bool {
		now := n.expiries()
		return len(now) == 2 && now[0] > before[0] && now[1] > before[1]
	}, patience, time.Second, "the replicas go on serving the old certificate")
}

// expiries are when the certificates end that Berth's replicas serve, by replica.
func (n *namespace) expiries() []float64 {
	n.t.Helper()
	pattern := regexp.MustCompile(`(?m)^berth_certificate_not_after_timestamp_seconds (\S+)$`)
	all := []float64{}
	for _, pod := range n.berthPods() {
		text, err := n.client.CoreV1().Pods("berth-system").ProxyGet("http", pod.Name, "8080", "/metrics", nil).DoRaw(n.t.Context())
		require.NoError(n.t, err)
		found := pattern.FindSubmatch(text)
		require.NotNil(n.t, found, "no metric of the certificate")
		end, err := strconv.ParseFloat(string(found[1]), 64)
		require.NoError(n.t, err)
		all = append(all, end)
	}
	return all
}

// berthPods are Berth's replicas, sorted by name, as a list always is.
func (n *namespace) berthPods() []corev1.Pod {
	n.t.Helper()
	list, err := n.client.CoreV1().Pods("berth-system").List(n.t.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/name=berth", FieldSelector: "status.phase=Running",
	})
	require.NoError(n.t, err)
	return list.Items
}

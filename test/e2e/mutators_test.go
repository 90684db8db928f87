//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"berth.dev/berth/test/e2e/cluster"
)

func TestAVolumeThatAWebhookBeforeBerthAddsIsRewritten(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.mutator("aa-"+n.name, addVolume)
	n.apply(pod("reader", onHost(withoutVolume(), "node-b")))
	n.assertReadOn(*n.awaitReady("reader"), "node-b")
}

func TestAPinThatAWebhookAfterBerthMovesIsFollowed(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.mutator("zzz-"+n.name, moveToNodeB)
	n.apply(pod("reader", onHost(reader("model-cache"), "node-a")))
	n.assertReadOn(*n.awaitReady("reader"), "node-b")
}

func TestAClaimThatAWebhookAfterBerthBringsIsRefusedByTheTwin(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.mutator("zzz-"+n.name, addVolume)
	out := n.refused(pod("reader", onHost(withoutVolume(), "node-b")))
	assert.Contains(t, out, `"model-cache"`)
	assert.Contains(t, out, "webhook")
	assert.Empty(t, n.pods())
}

func TestAPinThatAWebhookBeforeBerthMovesIsFollowed(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-a", "the bytes of node-a")
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.mutator("aa-"+n.name, moveToNodeB)
	n.apply(pod("reader", onHost(reader("model-cache"), "node-a")))
	n.assertReadOn(*n.awaitReady("reader"), "node-b")
}

// Berth is called again only for what it was called for before: here the pod's other
// PVC sees to that.
func TestAClaimThatAWebhookAfterBerthBringsToAPodThatBerthHasSeenIsRewritten(t *testing.T) {
	t.Parallel()
	n := newNamespace(t)
	n.nodePVC("model-cache", "node-b", "the bytes of node-b")
	n.pvc("own", "node-b", "")
	n.mutator("zzz-"+n.name, addVolume)
	template := onHost(withoutVolume(), "node-b")
	template.Spec.Volumes = []corev1.Volume{claimVolume("own", "own")}
	n.apply(pod("reader", template))
	assert.Equal(t, "model-cache-node-b", mounted(n.pod("reader"), "cache"))
	n.assertReadOn(*n.awaitReady("reader"), "node-b")
}

func withoutVolume() corev1.PodTemplateSpec {
	template := reader("model-cache")
	template.Spec.Volumes, template.Spec.Containers[0].VolumeMounts = nil, nil
	return template
}

// addVolume gives a pod the claim, once. The API server has added the token's volume
// and its mount before, so both lists are there.
func addVolume(pod *corev1.Pod) []any {
	if mounted(pod, "cache") != "" {
		return nil
	}
	return []any{
		map[string]any{"op": "add", "path": "/spec/volumes/-", "value": claimVolume("cache", "model-cache")},
		map[string]any{"op": "add", "path": "/spec/containers/0/volumeMounts/-", "value": corev1.VolumeMount{Name: "cache", MountPath: "/data"}},
	}
}

func moveToNodeB(*corev1.Pod) []any {
	return []any{map[string]any{"op": "replace", "path": "/spec/nodeSelector", "value": map[string]string{corev1.LabelHostname: "node-b"}}}
}

// mutator registers a webhook for the namespace's pods, under a name that says
// whether it runs before or after Berth.
func (n *namespace) mutator(name string, patch func(*corev1.Pod) []any) {
	n.t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey(cluster.HostAddress, []net.IP{net.ParseIP(cluster.HostAddress)}, nil)
	require.NoError(n.t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(n.t, err)
	listener, err := net.Listen("tcp", net.JoinHostPort(cluster.HostAddress, "0"))
	require.NoError(n.t, err)
	server := httptest.NewUnstartedServer(answer(patch))
	server.Listener = listener
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	n.t.Cleanup(server.Close)

	webhooks := n.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err = webhooks.Create(n.t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "mutator.e2e.berth.dev",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: certificate},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: n.name}},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
		}},
	}, metav1.CreateOptions{})
	require.NoError(n.t, err)
	n.t.Cleanup(func() { assert.NoError(n.t, webhooks.Delete(context.Background(), name, metav1.DeleteOptions{})) })
	n.awaitMutator(patch)
}

// awaitMutator waits until the API server has learnt of the webhook: a pod that
// Berth has no part in shows its change.
func (n *namespace) awaitMutator(patch func(*corev1.Pod) []any) {
	n.t.Helper()
	probe := pod("probe", onHost(withoutVolume(), "node-a"))
	probe.Labels = map[string]string{optIn: "disabled"}
	want := patch(probe.DeepCopy())
	require.Eventually(n.t, func() bool {
		got, err := n.client.CoreV1().Pods(n.name).Create(n.t.Context(), probe.DeepCopy(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(want) > 0 && (mounted(got, "cache") != "" || got.Spec.NodeSelector[corev1.LabelHostname] == "node-b")
	}, patience, interval, "the mutating webhook is not called")
}

// answer admits every pod with the patch.
func answer(patch func(*corev1.Pod) []any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		var pod corev1.Pod
		if json.NewDecoder(r.Body).Decode(&review) != nil || review.Request == nil || json.Unmarshal(review.Request.Object.Raw, &pod) != nil {
			http.Error(w, "no review of a pod", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if operations := patch(&pod); len(operations) > 0 {
			review.Response.Patch, _ = json.Marshal(operations)
			review.Response.PatchType = new(admissionv1.PatchTypeJSONPatch)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}
}

//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"berth.dev/berth/test/e2e/cluster"
)

// reader is a pod template whose container prints the note of the claim and waits.
func reader(claim string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "reader"}},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(5)),
			Containers: []corev1.Container{{
				Name:         "app",
				Image:        cluster.AppImage,
				Args:         []string{"serve", "/data/note"},
				VolumeMounts: []corev1.VolumeMount{{Name: "cache", MountPath: "/data"}},
			}},
			Volumes: []corev1.Volume{claimVolume("cache", claim)},
		},
	}
}

func claimVolume(name, claim string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

// onHost pins a template by the hostname selector, as Berth advises.
func onHost(template corev1.PodTemplateSpec, node string) corev1.PodTemplateSpec {
	template.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	return template
}

// once makes a template print and end, as a Job's does.
func once(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	template.Spec.Containers[0].Args[0] = "cat"
	return template
}

func pod(name string, template corev1.PodTemplateSpec) *corev1.Pod {
	template.Name = name
	return &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
}

// askForPod asks for a pod on node-a that reads model-cache, as a dry run: Berth judges
// it, and nothing is made. The call goes on to its end where a test's context is done.
func (n *namespace) askForPod() error {
	_, err := n.client.CoreV1().Pods(n.name).Create(context.WithoutCancel(n.t.Context()),
		pod("asked-for", onHost(reader("model-cache"), "node-a")), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "reader"}}
}

// pods lists the namespace's pods that aren't being deleted.
func (n *namespace) pods() []corev1.Pod {
	n.t.Helper()
	list, err := n.client.CoreV1().Pods(n.name).List(n.t.Context(), metav1.ListOptions{})
	require.NoError(n.t, err)
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// awaitPods waits until the namespace has that many pods, all ready, and returns
// them sorted by node.
func (n *namespace) awaitPods(count int) []corev1.Pod {
	n.t.Helper()
	var got []corev1.Pod
	require.Eventually(n.t, func() bool {
		got = n.pods()
		return len(got) == count && !slices.ContainsFunc(got, func(pod corev1.Pod) bool { return !ready(&pod) })
	}, patience, interval, "%s has not %d pods that are ready", n.name, count)
	slices.SortFunc(got, func(a, b corev1.Pod) int { return strings.Compare(a.Spec.NodeName, b.Spec.NodeName) })
	return got
}

// awaitEnd waits until the pods of a name's prefix have succeeded.
func (n *namespace) awaitEnd(prefix string) corev1.Pod {
	n.t.Helper()
	var got corev1.Pod
	require.Eventually(n.t, func() bool {
		for _, pod := range n.pods() {
			if strings.HasPrefix(pod.Name, prefix) && pod.Status.Phase == corev1.PodSucceeded {
				got = pod
				return true
			}
		}
		return false
	}, patience, interval, "no pod %s* has succeeded", prefix)
	return got
}

func (n *namespace) pod(name string) *corev1.Pod {
	n.t.Helper()
	got, err := n.client.CoreV1().Pods(n.name).Get(n.t.Context(), name, metav1.GetOptions{})
	require.NoError(n.t, err)
	return got
}

func (n *namespace) awaitReady(name string) *corev1.Pod {
	n.t.Helper()
	require.Eventually(n.t, func() bool { return ready(n.pod(name)) }, patience, interval, "pod %s is not ready", name)
	return n.pod(name)
}

// read returns what a pod's container has read, as its log shows; a container that
// was just started gets the time to print.
func (n *namespace) read(pod string) string {
	n.t.Helper()
	text := ""
	require.Eventually(n.t, func() bool {
		log, err := n.client.CoreV1().Pods(n.name).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(n.t.Context())
		text = strings.TrimSpace(string(log))
		return err == nil && text != ""
	}, patience, interval, "pod %s has printed nothing", pod)
	return text
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	})
}

// mounted is the PVC that a pod's volume names.
func mounted(pod *corev1.Pod, volume string) string {
	for _, v := range pod.Spec.Volumes {
		if v.Name == volume && v.PersistentVolumeClaim != nil {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

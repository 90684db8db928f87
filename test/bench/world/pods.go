package world

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// BarePod is a pod as a user applies it, pinned to a node by its hostname; about
// 3 KB as a review.
func BarePod(namespace, claim, node string) *corev1.Pod {
	pod := newPod(namespace, claim)
	pod.Name = "reader"
	pod.Labels = map[string]string{"app": "reader"}
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	simple := container(0, 0)
	simple.Args, simple.Ports, simple.Resources = nil, nil, corev1.ResourceRequirements{}
	pod.Spec.Containers = []corev1.Container{simple}
	pod.Spec.Tolerations = []corev1.Toleration{
		{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
		{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
	}
	return pod
}

// DaemonSetPod is a pod as the DaemonSet controller makes it for a node, with
// managedFields; about 8 KB as a review.
func DaemonSetPod(namespace, claim, node string) *corev1.Pod {
	pod := controlled(namespace, claim, node)
	pod.Spec.Containers = []corev1.Container{container(0, 8), container(1, 4)}
	return manage(pod, "kube-controller-manager")
}

// ControllersPod is that pod as the DaemonSet controller sends it: what the API server
// adds before it asks webhooks is not there yet.
func ControllersPod(namespace, claim, node string) *corev1.Pod {
	pod := DaemonSetPod(namespace, claim, node)
	pod.ManagedFields = nil
	pod.Spec.Volumes = pod.Spec.Volumes[:1]
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].VolumeMounts = pod.Spec.Containers[i].VolumeMounts[:1]
	}
	return pod
}

// BigPod is a DaemonSet's pod of 20 containers; about 60 KB as a review.
func BigPod(namespace, claim, node string) *corev1.Pod {
	pod := controlled(namespace, claim, node)
	for i := range 20 {
		pod.Spec.Containers = append(pod.Spec.Containers, container(i, 9))
	}
	return manage(pod, "kube-controller-manager")
}

// PinnedDeployment is a Deployment whose template is pinned to a node.
func PinnedDeployment(namespace, claim, node string) *appsv1.Deployment {
	template := BarePod(namespace, claim, node)
	return manage(&appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader", Labels: template.Labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxUnavailable: new(intstr.FromString("25%")), MaxSurge: new(intstr.FromString("25%")),
			}},
			RevisionHistoryLimit: new(int32(10)), ProgressDeadlineSeconds: new(int32(600)),
		},
	}, "kubectl-create")
}

// newPod is a pod without containers, with the defaults that the API server sets.
func newPod(namespace, claim string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Spec: corev1.PodSpec{
			Volumes: []corev1.Volume{
				{Name: "cache", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}},
				{Name: "kube-api-access-7h2kd", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
					DefaultMode: new(int32(420)),
					Sources: []corev1.VolumeProjection{
						{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
						{ConfigMap: &corev1.ConfigMapProjection{
							LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
						}},
						{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
							{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
						}}},
					},
				}}},
			},
			RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(30)), DNSPolicy: corev1.DNSClusterFirst,
			ServiceAccountName: "default", DeprecatedServiceAccount: "default", SecurityContext: &corev1.PodSecurityContext{},
			SchedulerName: corev1.DefaultSchedulerName, Priority: new(int32(0)), EnableServiceLinks: new(true),
			PreemptionPolicy: new(corev1.PreemptLowerPriority),
		},
	}
}

// controlled is a DaemonSet's pod without containers.
func controlled(namespace, claim, node string) *corev1.Pod {
	pod := newPod(namespace, claim)
	pod.GenerateName = "model-server-"
	pod.Labels = map[string]string{"app": "model-server", "controller-revision-hash": "6c4b8f9d75", "pod-template-generation": "3"}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "DaemonSet", Name: "model-server", UID: uid("daemonset", 1, 1), Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}}}
	for _, taint := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute})
	}
	for _, taint := range []string{corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure, corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable} {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule})
	}
	return pod
}

// container is the nth container of a pod, with so many environment variables.
func container(n, variables int) corev1.Container {
	c := corev1.Container{
		Name: fmt.Sprintf("server-%02d", n), Image: fmt.Sprintf("registry.example/inference/server-%02d:1.4.2", n),
		Args:  []string{"--model=/mnt/cache/weights", fmt.Sprintf("--port=%d", 8000+n)},
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: int32(8000 + n), Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")},
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("2Gi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "cache", MountPath: "/mnt/cache", ReadOnly: true},
			{Name: "kube-api-access-7h2kd", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"},
		},
		TerminationMessagePath: corev1.TerminationMessagePathDefault, TerminationMessagePolicy: corev1.TerminationMessageReadFile,
		ImagePullPolicy: corev1.PullIfNotPresent,
	}
	for v := range variables {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("MODEL_SERVER_OPTION_%02d", v), Value: fmt.Sprintf("a \"quoted\" value of option %d, such as <paths> & lists have", v)})
	}
	return c
}

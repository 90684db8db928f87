//go:build e2e

package e2e

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func daemonSet(template corev1.PodTemplateSpec) *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Spec:       appsv1.DaemonSetSpec{Selector: selector(), Template: template},
	}
}

func deployment(replicas int32, template corev1.PodTemplateSpec) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: selector(), Template: template},
	}
}

func replicaSet(template corev1.PodTemplateSpec) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Spec:       appsv1.ReplicaSetSpec{Selector: selector(), Template: template},
	}
}

func replicationController(template corev1.PodTemplateSpec) *corev1.ReplicationController {
	return &corev1.ReplicationController{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Spec:       corev1.ReplicationControllerSpec{Selector: selector().MatchLabels, Template: &template},
	}
}

// statefulSet has a claim template "own", so each pod has a volume own-reader-<i>.
func statefulSet(replicas int32, template corev1.PodTemplateSpec) *appsv1.StatefulSet {
	own := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Spec: nodePVC("", "").Spec}
	container := &template.Spec.Containers[0]
	container.VolumeMounts = append(slices.Clone(container.VolumeMounts), corev1.VolumeMount{Name: "own", MountPath: "/own"})
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: selector(), Template: template,
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{own},
		},
	}
}

func job(name string, template corev1.PodTemplateSpec) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batchv1.JobSpec{Template: once(template)}}
}

func cronJob(template corev1.PodTemplateSpec) *batchv1.CronJob {
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		Spec: batchv1.CronJobSpec{
			Schedule:    "* * * * *",
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: once(template)}},
		},
	}
}

// workloads are all kinds of Kubernetes that need a pin, around one template.
func workloads(template func() corev1.PodTemplateSpec) map[string]runtime.Object {
	return map[string]runtime.Object{
		"Deployment":            deployment(1, template()),
		"ReplicaSet":            replicaSet(template()),
		"ReplicationController": replicationController(template()),
		"StatefulSet":           statefulSet(1, template()),
		"Job":                   job("reader", template()),
		"CronJob":               cronJob(template()),
		"Pod":                   pod("reader", template()),
	}
}

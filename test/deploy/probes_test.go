package deploy_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	berth "berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// probe is a request, and whether the webhooks for it must be called.
type probe struct {
	resource    schema.GroupVersionResource
	kind        schema.GroupVersionKind
	operation   admission.Operation
	object, old runtime.Object
	called      bool
}

// templated is a kind with a pod template. nil leaves the template out, where
// the kind allows that.
type templated struct {
	group, resource, kind string
	make                  func(metav1.ObjectMeta, *corev1.PodTemplateSpec) runtime.Object
}

func templatedKinds() []templated {
	return []templated{
		{"apps", "daemonsets", "DaemonSet", func(m metav1.ObjectMeta, t *corev1.PodTemplateSpec) runtime.Object {
			return &appsv1.DaemonSet{ObjectMeta: m, Spec: appsv1.DaemonSetSpec{Template: *t}}
		}},
		{"apps", "deployments", "Deployment", func(m metav1.ObjectMeta, t *corev1.PodTemplateSpec) runtime.Object {
			return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Template: *t}}
		}},
		{"apps", "replicasets", "ReplicaSet", func(m metav1.ObjectMeta, t *corev1.PodTemplateSpec) runtime.Object {
			return &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Template: *t}}
		}},
		{"apps", "statefulsets", "StatefulSet", func(m metav1.ObjectMeta, t *corev1.PodTemplateSpec) runtime.Object {
			return &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Template: *t}}
		}},
		{"batch", "jobs", "Job", func(m metav1.ObjectMeta, t *corev1.PodTemplateSpec) runtime.Object {
			return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Template: *t}}
		}},
		{"batch", "cronjobs", "CronJob", func(m metav1.ObjectMeta, t *corev1.PodTemplateSpec) runtime.Object {
			return &batchv1.CronJob{ObjectMeta: m, Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: *t}}}}
		}},
		{"", "replicationcontrollers", "ReplicationController", func(m metav1.ObjectMeta, t *corev1.PodTemplateSpec) runtime.Object {
			return &corev1.ReplicationController{ObjectMeta: m, Spec: corev1.ReplicationControllerSpec{Template: t}}
		}},
	}
}

// probes are requests of every kind.
func probes(k claim.Keys) map[string]probe {
	out := map[string]probe{}
	maps.Copy(out, podProbes())
	maps.Copy(out, pvcProbes(k))
	maps.Copy(out, foreignProbes())
	for _, kind := range templatedKinds() {
		maps.Copy(out, kind.probes())
	}
	return out
}

// podWith is a pod's spec with volumes.
func podWith(volumes ...corev1.Volume) corev1.PodSpec {
	return corev1.PodSpec{Volumes: volumes, Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}}
}

func pvcVolume() corev1.Volume {
	return corev1.Volume{Name: "cache", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "model-cache"}}}
}

func emptyVolume() corev1.Volume {
	return corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}
}

func podProbes() map[string]probe {
	out := map[string]probe{}
	add := func(what string, called bool, annotations map[string]string, spec corev1.PodSpec) {
		out["pod: "+what] = probe{
			resource: corev1.SchemeGroupVersion.WithResource("pods"), kind: corev1.SchemeGroupVersion.WithKind("Pod"),
			operation: admission.Create, object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Spec: spec}, called: called,
		}
	}
	add("without volumes", false, nil, podWith())
	add("with other volumes", false, nil, podWith(emptyVolume()))
	add("with a PVC", true, nil, podWith(pvcVolume()))
	add("with a PVC among others", true, nil, podWith(emptyVolume(), pvcVolume()))
	add("with a PVC and annotations", true, map[string]string{"berth.dev/revision": "1"}, podWith(pvcVolume()))
	add("a mirror pod", false, map[string]string{corev1.MirrorPodAnnotationKey: "x"}, podWith(emptyVolume()))
	add("a mirror pod with a PVC", false, map[string]string{corev1.MirrorPodAnnotationKey: "x"}, podWith(pvcVolume()))
	return out
}

func pvcProbes(k claim.Keys) map[string]probe {
	out := map[string]probe{}
	add := func(what string, called bool, labels, annotations map[string]string) {
		pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations}}
		p := probe{
			resource: corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims"), kind: corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
			operation: admission.Create, object: pvc, called: called,
		}
		out["PVC created: "+what] = p
		p.operation, p.old = admission.Update, &corev1.PersistentVolumeClaim{}
		out["PVC updated: "+what] = p
	}
	add("without labels", false, nil, nil)
	add("with other labels", false, map[string]string{"app": "x"}, nil)
	add("with claim and node", true, map[string]string{k.Claim: "model-cache", k.Node: "node-a"}, nil)
	add("with a claim alone", false, map[string]string{k.Claim: "model-cache"}, nil)
	add("with a claim and other annotations", false, map[string]string{k.Claim: "model-cache"}, map[string]string{"x": "y"})
	add("with a node alone", false, map[string]string{k.Node: "node-a"}, map[string]string{k.Node: "node-a"})
	add("with an empty node", false, map[string]string{k.Claim: "model-cache", k.Node: ""}, nil)
	add("with a long node in an annotation", true, map[string]string{k.Claim: "model-cache"}, map[string]string{k.Node: "node-a"})
	add("with an empty node and an annotation", true, map[string]string{k.Claim: "model-cache", k.Node: ""}, map[string]string{k.Node: "node-a"})
	return out
}

// probes are creations and updates of a kind.
func (k templated) probes() map[string]probe {
	out := map[string]probe{}
	version := schema.GroupVersion{Group: k.group, Version: "v1"}
	add := func(what string, called bool, object, old runtime.Object) {
		p := probe{resource: version.WithResource(k.resource), kind: version.WithKind(k.kind), operation: admission.Create, object: object, called: called}
		if old != nil {
			p.operation, p.old = admission.Update, old
		}
		out[k.kind+" "+what] = p
	}
	object := func(spec corev1.PodSpec) runtime.Object {
		return k.make(metav1.ObjectMeta{}, &corev1.PodTemplateSpec{Spec: spec})
	}
	bare, with := object(podWith(emptyVolume())), object(podWith(pvcVolume()))
	labelled := k.make(metav1.ObjectMeta{Labels: map[string]string{"a": "b"}, Finalizers: []string{"example.com/x"}}, &corev1.PodTemplateSpec{Spec: podWith(pvcVolume())})

	add("created without volumes", false, object(podWith()), nil)
	add("created with other volumes", false, bare, nil)
	add("created with a PVC", true, with, nil)
	add("updated, the template as it was", false, labelled, with)
	add("updated, a PVC added", true, with, object(podWith()))
	add("updated, another volume added", true, object(podWith(pvcVolume(), emptyVolume())), with)
	add("updated, the PVC taken away", false, bare, with)
	if k.kind == "ReplicationController" {
		none := k.make(metav1.ObjectMeta{}, nil)
		add("created without a template", false, none, nil)
		add("updated, the template added", true, with, none)
		add("updated, the template taken away", false, none, with)
	}
	return out
}

// foreignProbes are of a kind that an administrator adds.
func foreignProbes() map[string]probe {
	version := schema.GroupVersion{Group: "argoproj.io", Version: "v1alpha1"}
	made := func(spec any) runtime.Object {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version.String(), "kind": "Rollout", "metadata": map[string]any{"name": "probe"}}}
		if spec != nil {
			u.Object["spec"] = spec
		}
		return u
	}
	at := func(called bool, object, old runtime.Object) probe {
		p := probe{resource: version.WithResource("rollouts"), kind: version.WithKind("Rollout"), operation: admission.Create, object: object, called: called}
		if old != nil {
			p.operation, p.old = admission.Update, old
		}
		return p
	}
	one, two := made(map[string]any{"replicas": int64(1)}), made(map[string]any{"replicas": int64(2)})
	return map[string]probe{
		"Rollout created":                     at(true, one, nil),
		"Rollout created without a spec":      at(false, made(nil), nil),
		"Rollout updated":                     at(true, two, one),
		"Rollout updated, the spec added":     at(true, one, made(nil)),
		"Rollout updated, the spec as it was": at(false, one, one),
	}
}

// TestProbesCoverEveryKind: each kind and operation that Berth handles has a
// probe that must be called for, and one that must not.
func TestProbesCoverEveryKind(t *testing.T) {
	type seen struct {
		resource, operation string
		called              bool
	}
	have := map[seen]bool{}
	for _, p := range probes(claim.DefaultRules().Keys) {
		have[seen{p.resource.String(), string(p.operation), p.called}] = true
	}
	for _, k := range berth.Kinds() {
		resource := schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Resource}.String()
		for _, operation := range k.Operations {
			assert.True(t, have[seen{resource, operation, true}], "%s of %s", operation, resource)
			assert.True(t, have[seen{resource, operation, false}], "%s of %s", operation, resource)
		}
	}
}

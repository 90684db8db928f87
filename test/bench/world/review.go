package world

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Review is one AdmissionReview with the answer that is right.
type Review struct {
	Name string // for people
	Slug string // for names of benchmarks
	Body []byte // as the API server sends it
	UID  types.UID
	// ClaimName is what the first volume must name in the end; "" if the object must
	// not be changed.
	ClaimName string
	Denied    bool
}

// Reviews are the four that all contenders are measured on: three pods of the
// middle node of the world, and a Deployment.
func (w World) Reviews() []Review {
	namespace, claim, node := Namespace(0), ClaimName(0), NodeName(w.Nodes/2)
	want := PVCName(0, w.Nodes/2)
	return []Review{
		Review{Name: "bare pod, 3 KB", Slug: "bare-pod", ClaimName: want}.of(BarePod(namespace, claim, node), "pods"),
		Review{Name: "DaemonSet pod, 8 KB", Slug: "daemonset-pod", ClaimName: want}.of(DaemonSetPod(namespace, claim, node), "pods"),
		Review{Name: "pod of 20 containers, 60 KB", Slug: "big-pod", ClaimName: want}.of(BigPod(namespace, claim, node), "pods"),
		Review{Name: "Deployment, 4 KB", Slug: "deployment"}.of(PinnedDeployment(namespace, claim, node), "deployments"),
	}
}

// PodReview is the review of a DaemonSet's pod of a node, which mounts a claim.
func (w World) PodReview(claim, node int) Review {
	name := fmt.Sprintf("pod of %s on %s", ClaimName(claim), NodeName(node))
	return Review{Name: name, ClaimName: PVCName(claim, node)}.of(DaemonSetPod(Namespace(claim), ClaimName(claim), NodeName(node)), "pods")
}

// Refusals are reviews that every contender must refuse. They are not measured:
// they show that a contender decides.
func (w World) Refusals() []Review {
	namespace, claim := Namespace(0), ClaimName(0)
	unpinned := BarePod(namespace, claim, "")
	unpinned.Spec.NodeSelector = nil
	template := PinnedDeployment(namespace, claim, "")
	template.Spec.Template.Spec.NodeSelector = nil
	return []Review{
		Review{Name: "a pod that is not pinned", Denied: true}.of(unpinned, "pods"),
		Review{Name: "a Deployment that is not pinned", Denied: true}.of(template, "deployments"),
	}
}

// Stranger is a pod whose claim is no node-local one: nobody may touch it.
func (w World) Stranger() Review {
	return Review{Name: "a pod with an ordinary PVC"}.of(BarePod(Namespace(0), "scratch", NodeName(0)), "pods")
}

// of fills in the review of an object's creation.
func (r Review) of(object metav1.Object, resource string) Review {
	group := ""
	kind := "Pod"
	if _, ok := object.(*appsv1.Deployment); ok {
		group, kind = "apps", "Deployment"
	}
	gvk := metav1.GroupVersionKind{Group: group, Version: "v1", Kind: kind}
	gvr := metav1.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	r.UID = uid(r.Name, len(r.Name), len(r.Slug))
	if pod, ok := object.(*corev1.Pod); ok && pod.ManagedFields == nil {
		manage(pod, "kubectl-create")
	}
	r.Body = mustEncode(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: r.UID, Kind: gvk, Resource: gvr, RequestKind: &gvk, RequestResource: &gvr,
			Name: object.GetName(), Namespace: object.GetNamespace(), Operation: admissionv1.Create, DryRun: new(false),
			UserInfo: authenticationv1.UserInfo{
				Username: "system:serviceaccount:kube-system:daemon-set-controller", UID: string(uid("user", 1, 1)),
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
				Extra: map[string]authenticationv1.ExtraValue{
					"authentication.kubernetes.io/credential-id": {fmt.Sprintf("JTI=%s", uid("token", 2, 2))},
				},
			},
			Object:  runtime.RawExtension{Raw: mustEncode(object)},
			Options: runtime.RawExtension{Raw: []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`)},
		},
	})
	return r
}

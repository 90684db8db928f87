package contender

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/storage/volume"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"berth.dev/berth/test/bench/world"
)

// nodePVCs is the annotation that tells what was put in a claim's place.
const nodePVCs = "berth.dev/node-pvcs"

// CommonWay is the job written the common way: decode the object, list from the
// manager's cache by labels, change the object, marshal it, and let the library
// find the difference.
type CommonWay struct {
	Client  client.Reader
	Decoder admission.Decoder
}

// Handle is part of [admission.Handler].
func (h *CommonWay) Handle(ctx context.Context, req admission.Request) admission.Response {
	switch req.Resource.Resource {
	case "pods":
		pod := &corev1.Pod{}
		if err := h.Decoder.Decode(req, pod); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		return h.rewritten(ctx, req, pod)
	case "deployments":
		deployment := &appsv1.Deployment{}
		if err := h.Decoder.Decode(req, deployment); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		_, denied := h.resolve(ctx, req.Namespace, &deployment.Spec.Template.Spec)
		return verdict(denied)
	}
	return admission.Allowed("")
}

// rewritten puts the node's PVCs into a pod.
func (h *CommonWay) rewritten(ctx context.Context, req admission.Request, pod *corev1.Pod) admission.Response {
	chosen, denied := h.resolve(ctx, req.Namespace, &pod.Spec)
	if denied != nil || len(chosen) == 0 {
		return verdict(denied)
	}
	for i := range pod.Spec.Volumes {
		source := pod.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil || chosen[source.ClaimName] == "" {
			continue
		}
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		pod.Annotations[nodePVCs] = source.ClaimName + "=" + chosen[source.ClaimName]
		source.ClaimName = chosen[source.ClaimName]
	}
	marshalled, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, marshalled)
}

// deniedError is a refusal; other errors are failures.
type deniedError string

// Error says why.
func (e deniedError) Error() string { return string(e) }

func verdict(err error) admission.Response {
	switch err := err.(type) { //nolint:errorlint // resolve returns it as it is
	case nil:
		return admission.Allowed("")
	case deniedError:
		return admission.Denied(err.Error())
	}
	return admission.Errored(http.StatusInternalServerError, err)
}

// resolve gives the node's PVC for each node-local claim that a pod mounts.
func (h *CommonWay) resolve(ctx context.Context, namespace string, spec *corev1.PodSpec) (map[string]string, error) {
	chosen := map[string]string{}
	for i := range spec.Volumes {
		source := spec.Volumes[i].PersistentVolumeClaim
		if source == nil || chosen[source.ClaimName] != "" {
			continue
		}
		local, err := h.isNodeLocal(ctx, namespace, source.ClaimName)
		if err != nil {
			return nil, err
		}
		if !local {
			continue
		}
		pvc, err := h.choose(ctx, namespace, source.ClaimName, nodeOf(spec))
		if err != nil {
			return nil, err
		}
		chosen[source.ClaimName] = pvc
	}
	return chosen, nil
}

// isNodeLocal tells whether a claim has a PVC on any node.
func (h *CommonWay) isNodeLocal(ctx context.Context, namespace, claim string) (bool, error) {
	var found corev1.PersistentVolumeClaimList
	err := h.Client.List(ctx, &found, client.InNamespace(namespace), client.MatchingLabels{world.ClaimLabel: claim}, client.Limit(1))
	return len(found.Items) > 0, err
}

// choose gives the name of a claim's PVC on a node.
func (h *CommonWay) choose(ctx context.Context, namespace, claim, node string) (string, error) {
	if node == "" {
		return "", deniedError(fmt.Sprintf("claim %q is node-local, but the pod is not pinned to one node", claim))
	}
	var list corev1.PersistentVolumeClaimList
	err := h.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{world.ClaimLabel: claim, world.NodeLabel: node})
	if err != nil {
		return "", err
	}
	if len(list.Items) != 1 {
		return "", deniedError(fmt.Sprintf("node %q has %d PVCs for claim %q", node, len(list.Items), claim))
	}
	return list.Items[0].Name, h.admits(ctx, &list.Items[0], node)
}

// admits holds that the PVC's volume can be used on the node.
func (h *CommonWay) admits(ctx context.Context, pvc *corev1.PersistentVolumeClaim, name string) error {
	if pvc.Status.Phase != corev1.ClaimBound {
		return nil
	}
	var pv corev1.PersistentVolume
	if err := h.Client.Get(ctx, client.ObjectKey{Name: pvc.Spec.VolumeName}, &pv); err != nil {
		return err
	}
	var node corev1.Node
	if err := h.Client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := volume.CheckNodeAffinity(&pv, node.Labels); err != nil {
		return deniedError(fmt.Sprintf("PVC %q can't be used on node %q: %v", pvc.Name, name, err))
	}
	return nil
}

// nodeOf is the node that a pod names; "" if it names none.
func nodeOf(spec *corev1.PodSpec) string {
	if spec.NodeName != "" {
		return spec.NodeName
	}
	if name := spec.NodeSelector[corev1.LabelHostname]; name != "" {
		return name
	}
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	terms := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 {
		return ""
	}
	for _, field := range terms[0].MatchFields {
		if field.Key == "metadata.name" && field.Operator == corev1.NodeSelectorOpIn && len(field.Values) == 1 {
			return field.Values[0]
		}
	}
	return ""
}

var _ admission.Handler = (*CommonWay)(nil)

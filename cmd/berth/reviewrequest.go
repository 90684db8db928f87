package main

import (
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	kjson "sigs.k8s.io/json"

	"berth.dev/berth/webhook/admission"
)

// The label by which namespaces opt in and objects opt out, as the shipped
// webhook configuration selects them.
const (
	labelAdmission = "berth.dev/admission"
	optedIn        = "enabled"
	optedOut       = "disabled"
)

// namespace is the object's own, or where kubectl would apply it.
func (m *manifest) namespace(otherwise string) string {
	if m.head.Metadata.Namespace != "" {
		return m.head.Metadata.Namespace
	}
	return otherwise
}

// judgedKind is the kind of the object, or of the one in an AdmissionReview.
func (m *manifest) judgedKind() string {
	if !m.isReview() {
		return m.head.Kind
	}
	var review struct {
		Request struct {
			Kind struct {
				Kind string `json:"kind"`
			} `json:"kind"`
		} `json:"request"`
	}
	_ = kjson.UnmarshalCaseSensitivePreserveInts(m.raw, &review) // who decides about it says what is wrong
	return review.Request.Kind.Kind
}

// body is the AdmissionReview of the object's creation, as the API server
// would send it. An AdmissionReview is its own.
func (w *world) body(m *manifest) ([]byte, error) {
	if m.isReview() {
		return m.raw, nil
	}
	object, err := w.withDefaultClass(m)
	if err != nil {
		return nil, err
	}
	gvk, gvr := metav1.GroupVersionKind(m.gvk()), metav1.GroupVersionResource(m.resource())
	return json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: uuid.NewUUID(), Kind: gvk, Resource: gvr, RequestKind: &gvk, RequestResource: &gvr,
			Name: m.head.Metadata.Name, Namespace: m.namespace(w.namespace), Operation: admissionv1.Create,
			Object: runtime.RawExtension{Raw: object}, Options: runtime.RawExtension{Raw: createOptions()},
		},
	})
}

func createOptions() []byte { return []byte(`{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}`) }

// withDefaultClass is the object; of a PVC without a class, with the default
// class in, as the API server's own admission puts it before it calls webhooks.
func (w *world) withDefaultClass(m *manifest) ([]byte, error) {
	class := w.store.View().StorageClass("")
	if !m.isPVC() || class == nil {
		return m.raw, nil
	}
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(m.raw, &object); err != nil {
		return nil, fmt.Errorf("%s %q can't be read: %w", m.head.Kind, m.name(), err)
	}
	spec, ok := object["spec"].(map[string]any)
	if !ok || spec["storageClassName"] != nil {
		return m.raw, nil
	}
	spec["storageClassName"] = class.Name
	return json.Marshal(object)
}

// skipped says why the API server would not ask Berth about a request; "" if it
// would. The warning says what could not be found out.
func (w *world) skipped(ctx context.Context, req *admission.Request) (why, warning string) {
	if isOptedOut(req) {
		return fmt.Sprintf("the object is labelled %s: %s", labelAdmission, optedOut), ""
	}
	if req.Namespace == "" {
		return "", ""
	}
	if req.Namespace == metav1.NamespaceSystem {
		return fmt.Sprintf("namespace %q is never Berth's", req.Namespace), ""
	}
	found := w.labelsOf(ctx, req.Namespace)
	if found.known && found.labels[labelAdmission] != optedIn {
		return fmt.Sprintf("namespace %q is not opted in: it lacks the label %s: %s", req.Namespace, labelAdmission, optedIn), ""
	}
	if found.err != nil {
		return "", fmt.Sprintf("namespace %q can't be read, so it counts as opted in: %s", req.Namespace, oneLine(found.err))
	}
	return "", ""
}

// isOptedOut tells whether neither the object nor the one that it replaces is
// selected: the selector matches if one of the two does.
func isOptedOut(req *admission.Request) bool {
	out := 0
	for _, raw := range [][]byte{req.Object, req.OldObject} {
		var head manifestHead
		if len(raw) == 0 || string(raw) == "null" || kjson.UnmarshalCaseSensitivePreserveInts(raw, &head) != nil {
			continue
		}
		if head.Metadata.Labels[labelAdmission] != optedOut {
			return false
		}
		out++
	}
	return out > 0
}

// kindOf is the kind of a request for people: its own, or the resource's name.
func kindOf(m *manifest, req *admission.Request) string {
	if kind := m.judgedKind(); kind != "" {
		return kind
	}
	return schema.GroupResource{Group: req.Group, Resource: req.Resource}.String()
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"berth.dev/berth/webhook/admission"
)

// manifest is one object of the input.
type manifest struct {
	source string // for people: pods.yaml:2, or pods.yaml:2.3 for the third item of a List
	raw    json.RawMessage
	head   manifestHead
}

// manifestHead is what tells one object from another.
type manifestHead struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name         string            `json:"name"`
		GenerateName string            `json:"generateName"`
		Namespace    string            `json:"namespace"`
		Labels       map[string]string `json:"labels"`
	} `json:"metadata"`
	Items *json.RawMessage `json:"items"`
}

// newManifests gives the object of a document, or the objects of a List, and
// what is wrong with those that are none.
func newManifests(raw json.RawMessage, source string) ([]*manifest, []error) {
	return expandManifest(raw, source, schema.GroupVersionKind{})
}

// expandManifest takes Lists apart. The items of a typed list (PodList) may
// leave out their own apiVersion and kind.
func expandManifest(raw json.RawMessage, source string, inherited schema.GroupVersionKind) ([]*manifest, []error) {
	m := &manifest{source: source, raw: raw}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil, []error{fmt.Errorf("%s: not a Kubernetes object", source)}
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &m.head); err != nil {
		return nil, []error{fmt.Errorf("%s: not a Kubernetes object: %w", source, err)}
	}
	if m.head.Kind == "" && m.head.APIVersion == "" {
		m.head.APIVersion, m.head.Kind = inherited.GroupVersion().String(), inherited.Kind
	}
	if m.isList() {
		return m.items()
	}
	if err := m.check(); err != nil {
		return nil, []error{fmt.Errorf("%s: %w", source, err)}
	}
	return []*manifest{m}, nil
}

// isList tells a List from other kinds that happen to end so.
func (m *manifest) isList() bool {
	return m.head.Kind == "List" || strings.HasSuffix(m.head.Kind, "List") && m.head.Items != nil
}

func (m *manifest) items() ([]*manifest, []error) {
	var items []json.RawMessage
	if m.head.Items != nil {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(*m.head.Items, &items); err != nil {
			return nil, []error{fmt.Errorf("%s: %s has items that are no array", m.source, m.head.Kind)}
		}
	}
	var of schema.GroupVersionKind
	if kind := strings.TrimSuffix(m.head.Kind, "List"); kind != "" {
		of = m.gvk().GroupVersion().WithKind(kind)
	}
	var out []*manifest
	var errs []error
	for i, raw := range items {
		more, wrong := expandManifest(raw, fmt.Sprintf("%s.%d", m.source, i+1), of)
		out, errs = append(out, more...), append(errs, wrong...)
	}
	return out, errs
}

// check holds that the API server could take the object.
func (m *manifest) check() error {
	if m.head.Kind == "" {
		return errors.New("not a Kubernetes object: it has no kind")
	}
	if _, err := schema.ParseGroupVersion(m.head.APIVersion); err != nil || m.head.APIVersion == "" {
		return fmt.Errorf("%s has apiVersion %q, which is none", m.head.Kind, m.head.APIVersion)
	}
	if m.name() == "" && !m.isReview() {
		return fmt.Errorf("%s has neither metadata.name nor metadata.generateName", m.head.Kind)
	}
	return nil
}

func (m *manifest) gvk() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(m.head.APIVersion, m.head.Kind)
}

// is tells whether the object is of a kind, given as "version Kind".
func (m *manifest) is(apiVersion, kind string) bool {
	return m.head.APIVersion == apiVersion && m.head.Kind == kind
}

func (m *manifest) isPVC() bool { return m.is("v1", "PersistentVolumeClaim") }

// isReview tells whether the object is an AdmissionReview, of any version.
func (m *manifest) isReview() bool {
	return m.gvk().Group == "admission.k8s.io" && m.head.Kind == "AdmissionReview"
}

// name is the object's name; of one that has none yet, generateName and a star.
func (m *manifest) name() string {
	if m.head.Metadata.Name == "" && m.head.Metadata.GenerateName != "" {
		return m.head.Metadata.GenerateName + "*"
	}
	return m.head.Metadata.Name
}

// resource is the object's resource. Kinds that Berth knows follow the API's
// conventions for plurals, so guessing gives their names, too.
func (m *manifest) resource() schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(m.gvk())
	return plural
}

// isJudged tells whether the object concerns Berth: it is of a kind that it
// knows, or has a template where nearly every kind has its own.
func (m *manifest) isJudged() bool {
	got := m.resource()
	for _, k := range admission.Kinds() {
		if got.Group == k.Group && got.Resource == k.Resource {
			return true
		}
	}
	if thirdPartyKinds()[got.GroupResource().String()] {
		return true
	}
	var object struct {
		Spec struct {
			Template json.RawMessage `json:"template"`
		} `json:"spec"`
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(m.raw, &object) == nil && len(object.Spec.Template) > 0
}

// thirdPartyKinds are the resources, not built into Kubernetes, whose pod
// templates Berth knows where to find.
func thirdPartyKinds() map[string]bool {
	return map[string]bool{
		"rollouts.argoproj.io": true, "clonesets.apps.kruise.io": true, "statefulsets.apps.kruise.io": true,
		"daemonsets.apps.kruise.io": true, "broadcastjobs.apps.kruise.io": true,
		"leaderworkersets.leaderworkerset.x-k8s.io": true, "rayclusters.ray.io": true,
		"jobsets.jobset.x-k8s.io": true, "services.serving.knative.dev": true,
	}
}

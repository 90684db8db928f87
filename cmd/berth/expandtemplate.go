package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"berth.dev/berth/webhook/claim"
)

// expandTemplate is a PVC of the input, from which node PVCs are made.
type expandTemplate struct {
	claim.Template
	fields     map[string]any // of the object, without metadata and status
	finalizers []string
}

// loadTemplates reads the templates; anything else in the input is an error,
// so that no object is lost on the way to kubectl apply.
func (o *expandOptions) loadTemplates(rules *claim.Rules, io streams) ([]*expandTemplate, []error) {
	manifests, errs := loadManifests(o.filenames, false, io.in)
	var out []*expandTemplate
	for _, m := range manifests {
		t, err := o.newTemplate(m, &rules.Keys)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.source, err))
			continue
		}
		out = append(out, t)
	}
	return out, errs
}

func (o *expandOptions) newTemplate(m *manifest, keys *claim.Keys) (*expandTemplate, error) {
	if !m.isPVC() {
		return nil, fmt.Errorf("%s %q is no PersistentVolumeClaim, which templates are", m.head.Kind, m.name())
	}
	var object struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			VolumeName string `json:"volumeName"`
		} `json:"spec"`
	}
	t := &expandTemplate{}
	for _, into := range []any{&object, &t.fields} {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(m.raw, into); err != nil {
			return nil, fmt.Errorf("%s %q can't be read: %w", m.head.Kind, m.name(), err)
		}
	}
	delete(t.fields, "metadata")
	delete(t.fields, "status")
	meta := &object.Metadata
	t.finalizers = slices.DeleteFunc(meta.Finalizers, func(f string) bool { return f == pvcProtection })
	t.Template = claim.Template{
		Namespace:  m.namespace(o.namespace),
		Claim:      firstOf(o.claim, meta.Labels[keys.Claim], meta.Name),
		Revision:   firstOf(o.revision, meta.Labels[keys.Revision]),
		Labels:     meta.Labels,
		VolumeName: object.Spec.VolumeName,

		Annotations: meta.Annotations,
	}
	return t, nil
}

// pvcProtection is the finalizer that the API server gives each PVC
// (StorageObjectInUseProtection).
const pvcProtection = "kubernetes.io/pvc-protection"

// firstOf is the first text that is not empty.
func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// parts are the templates as the domain knows them.
func parts(templates []*expandTemplate) []claim.Template {
	out := make([]claim.Template, len(templates))
	for i, t := range templates {
		out[i] = t.Template
	}
	return out
}

// object is the template with the metadata of a node PVC. What else a template's metadata
// may hold is the cluster's (uid, resourceVersion, managedFields), or of one
// object only (ownerReferences).
func (t *expandTemplate) object(pvc claim.NodePVC) map[string]any {
	object := runtime.DeepCopyJSON(t.fields)
	meta := map[string]any{"name": pvc.Name, "labels": pvc.Labels}
	if pvc.Namespace != "" {
		meta["namespace"] = pvc.Namespace
	}
	if len(pvc.Annotations) > 0 {
		meta["annotations"] = pvc.Annotations
	}
	if len(t.finalizers) > 0 {
		meta["finalizers"] = t.finalizers
	}
	object["metadata"] = meta
	return object
}

// objectPrinters are the formats of objects, as kubectl reads them.
func objectPrinters() map[string]func(io.Writer, []map[string]any) error {
	return map[string]func(io.Writer, []map[string]any) error{"yaml": printObjectsYAML, "json": printObjectsJSON}
}

// printObjectsYAML writes a document for each object, so that one more node is
// one more document.
func printObjectsYAML(out io.Writer, objects []map[string]any) error {
	for i, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// printObjectsJSON writes one List.
func printObjectsJSON(out io.Writer, objects []map[string]any) error {
	items := make([]json.RawMessage, len(objects))
	for i, object := range objects {
		raw, err := json.Marshal(object)
		if err != nil {
			return err
		}
		items[i] = raw
	}
	return writeJSON(out, struct {
		APIVersion string            `json:"apiVersion"`
		Kind       string            `json:"kind"`
		Items      []json.RawMessage `json:"items"`
	}{"v1", "List", items})
}

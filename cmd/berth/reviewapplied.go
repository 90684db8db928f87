package main

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/lookup"
)

// applied are the objects of the input that decisions read, as if they had
// been applied before anything is judged.
type applied struct {
	nodes      map[string]*corev1.Node
	pvs        map[string]*corev1.PersistentVolume
	classes    map[string]*storagev1.StorageClass
	pvcs       map[types.NamespacedName]*corev1.PersistentVolumeClaim
	namespaces map[string]map[string]string  // name -> labels
	assumed    map[types.NamespacedName]bool // PVCs that count as bound, since their PV is among the input
}

// newApplied gathers them; namespace is that of PVCs that name none.
func newApplied(manifests []*manifest, namespace string) (*applied, []error) {
	a := &applied{
		nodes: map[string]*corev1.Node{}, pvs: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{},
		pvcs: map[types.NamespacedName]*corev1.PersistentVolumeClaim{}, namespaces: map[string]map[string]string{},
		assumed: map[types.NamespacedName]bool{},
	}
	var errs []error
	for _, m := range manifests {
		if m.head.Metadata.Name == "" {
			continue // nobody can refer to it yet
		}
		if err := a.take(m, namespace); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s %q can't be read: %w", m.source, m.head.Kind, m.name(), err))
		}
	}
	return a, errs
}

func (a *applied) take(m *manifest, namespace string) error {
	name := m.head.Metadata.Name
	switch {
	case m.is("v1", "Node"):
		return keep(m, a.nodes, name)
	case m.is("v1", "PersistentVolume"):
		return keep(m, a.pvs, name)
	case m.is("storage.k8s.io/v1", "StorageClass"):
		return keep(m, a.classes, name)
	case m.is("v1", "Namespace"):
		a.namespaces[name] = m.head.Metadata.Labels
	case m.isPVC():
		key := types.NamespacedName{Namespace: m.namespace(namespace), Name: name}
		if err := keep(m, a.pvcs, key); err != nil {
			return err
		}
		a.pvcs[key].Namespace = key.Namespace
	}
	return nil
}

func keep[K comparable, T any](m *manifest, in map[K]*T, key K) error {
	object := new(T)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(m.raw, object); err != nil {
		return err
	}
	in[key] = object
	return nil
}

// lay puts the objects into a picture of the cluster, over what is there.
func (a *applied) lay(store *lookup.Store, keys *claim.Keys, now time.Time) {
	for _, n := range a.nodes {
		store.SetNode(claim.NewNode(n))
	}
	for _, c := range a.classes {
		store.SetStorageClass(claim.NewStorageClass(c))
	}
	before := store.View()
	for _, v := range a.pvs {
		store.SetPV(a.pv(v, before))
	}
	for _, c := range a.pvcs {
		store.SetPVC(a.pvc(c, before, keys, now))
	}
}

// pv is a PersistentVolume after it was applied: a manifest has no status, so
// it keeps the one that it had, and a new one waits for a claim.
func (a *applied) pv(v *corev1.PersistentVolume, before claim.View) *claim.PV {
	p := claim.NewPV(v)
	if v.Status.Phase != "" {
		return p
	}
	if old := before.PV(v.Name); old != nil {
		p.Available = old.Available
		return p
	}
	p.Available = true
	for _, c := range a.pvcs {
		p.Available = p.Available && !a.binds(c, v)
	}
	return p
}

// pvc is a PersistentVolumeClaim after it was applied: what the cluster wrote
// into it stays, and a new one is pending, or bound if it and its PV are
// meant for each other.
func (a *applied) pvc(c *corev1.PersistentVolumeClaim, before claim.View, keys *claim.Keys, now time.Time) *claim.PVC {
	p := claim.NewPVC(c, keys)
	if p.Phase != "" {
		return p
	}
	if old := before.PVC(c.Namespace, c.Name); old != nil {
		return inherit(p, old)
	}
	p.Phase, p.Created = corev1.ClaimPending, now.Unix()
	if v := a.pvs[c.Spec.VolumeName]; v != nil && a.binds(c, v) {
		p.Phase = corev1.ClaimBound
		a.assumed[types.NamespacedName{Namespace: c.Namespace, Name: c.Name}] = true
	}
	if class := before.StorageClass(""); c.Spec.StorageClassName == nil && class != nil {
		p.StorageClass = class.Name
	}
	return p
}

// binds tells whether the PVC names the PV, and the PV is free or reserved for
// it: the PV controller then binds them without a pod, whatever the class
// (syncUnboundClaim in pkg/controller/volume/persistentvolume of Kubernetes).
func (a *applied) binds(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) bool {
	ref := v.Spec.ClaimRef
	return c.Spec.VolumeName == v.Name && (ref == nil || ref.Namespace == c.Namespace && ref.Name == c.Name)
}

// inherit gives the PVC what apply leaves alone in the old one.
func inherit(p, old *claim.PVC) *claim.PVC {
	p.Phase, p.Deleting, p.Created = old.Phase, old.Deleting, old.Created
	if p.VolumeName == "" {
		p.VolumeName = old.VolumeName
	}
	if p.SelectedNode == "" {
		p.SelectedNode = old.SelectedNode
	}
	if p.StorageClass == "" {
		p.StorageClass = old.StorageClass
	}
	if !p.HasPopulated {
		p.Populated, p.HasPopulated = old.Populated, old.HasPopulated
	}
	return p
}

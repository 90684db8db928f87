package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/lookup"
)

// reviewTimeout bounds the reads for one object. It is longer than a
// webhook's: nobody's request hangs on it.
const reviewTimeout = 10 * time.Second

// preloadTimeout bounds the reads before the first one: they may be lists of
// everything.
const preloadTimeout = time.Minute

// world is the cluster that manifests are judged against: a file's or a live
// one, with the input's own objects over it.
type world struct {
	rules      *claim.Rules
	namespace  string // of objects that name none
	store      *lookup.Store
	client     kubernetes.Interface // nil where the store is the whole truth
	live       *lookup.Live         // nil with the client
	applied    *applied
	namespaces map[string]namespaceFound
}

// namespaceFound is what is known of a Namespace.
type namespaceFound struct {
	known  bool
	labels map[string]string
	err    error // why it could not be read
}

// openWorld finds the cluster and lays the input's objects over it. Without a
// world nothing can be judged.
func (o *reviewOptions) openWorld(ctx context.Context, rules *claim.Rules, manifests []*manifest) (*world, []error) {
	w := &world{rules: rules, namespace: o.cluster.namespaceOr(o.namespace), store: lookup.NewStore(rules), namespaces: map[string]namespaceFound{}}
	var errs []error
	w.applied, errs = newApplied(manifests, w.namespace)
	if err := o.findWorld(w); err != nil {
		return nil, append(errs, err)
	}
	if w.client != nil {
		errs = append(errs, w.preload(ctx, manifests)...)
	}
	w.applied.lay(w.store, &rules.Keys, time.Now())
	return w, errs
}

// findWorld reads the cluster file, or makes clients. With neither, the
// input's own Nodes or PVCs are a cluster, if it has any.
func (o *reviewOptions) findWorld(w *world) error {
	if o.cluster.file != "" {
		file, err := lookup.ReadClusterFile(o.cluster.file, w.rules)
		if err != nil {
			return err
		}
		w.store = file.Store
		for name, labels := range file.Namespaces {
			w.namespaces[name] = namespaceFound{known: true, labels: labels}
		}
		return nil
	}
	if o.nowhere() && len(w.applied.nodes)+len(w.applied.pvcs) > 0 {
		return nil
	}
	config, err := o.cluster.restConfig()
	if err != nil {
		return err
	}
	if w.client, err = kubernetes.NewForConfig(lookup.LiveConfig(config)); err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	w.live = lookup.NewLive(w.client, w.rules, nil)
	return nil
}

// labelsOf finds a Namespace: in the file, or in the cluster, once; the
// labels of the input's own are laid over those that it has.
func (w *world) labelsOf(ctx context.Context, name string) namespaceFound {
	found, seen := w.namespaces[name]
	if !seen && w.client != nil {
		found = w.readNamespace(ctx, name)
		w.namespaces[name] = found
	}
	own, ok := w.applied.namespaces[name]
	if !ok {
		return found
	}
	labels := maps.Clone(own)
	if labels == nil {
		labels = map[string]string{}
	}
	for key, value := range found.labels {
		if _, ok := labels[key]; !ok {
			labels[key] = value
		}
	}
	return namespaceFound{known: true, labels: labels, err: found.err}
}

func (w *world) readNamespace(ctx context.Context, name string) namespaceFound {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	found, err := w.client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return namespaceFound{}
	case err != nil:
		return namespaceFound{err: err}
	}
	return namespaceFound{known: true, labels: found.Labels}
}

// preload reads, before the input's objects are laid over them, the objects
// that live reads for a decision would not add to: all Nodes for a DaemonSet,
// all PVs for a PVC, and what shares a claim or a name with the input's own.
func (w *world) preload(ctx context.Context, manifests []*manifest) []error {
	ctx, cancel := context.WithTimeout(ctx, preloadTimeout)
	defer cancel()
	a := w.applied
	everyNode, pvcs := len(a.nodes) > 0, len(a.pvcs) > 0
	for _, m := range manifests {
		kind := m.judgedKind()
		everyNode = everyNode || kind == "DaemonSet" || kind == "BroadcastJob"
		pvcs = pvcs || kind == "PersistentVolumeClaim"
	}
	var errs []error
	if everyNode {
		errs = append(errs, w.loadNodes(ctx))
	}
	if pvcs || len(a.pvs) > 0 {
		errs = append(errs, w.loadPVs(ctx))
	}
	if pvcs || len(a.classes) > 0 {
		errs = append(errs, w.loadClasses(ctx))
	}
	if len(a.pvcs) > 0 {
		errs = append(errs, w.loadPVCs(ctx))
	}
	return withoutNil(errs)
}

func (w *world) loadNodes(ctx context.Context) error {
	list, err := w.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("can't list nodes: %w", err)
	}
	for i := range list.Items {
		w.store.SetNode(claim.NewNode(&list.Items[i]))
	}
	return nil
}

func (w *world) loadPVs(ctx context.Context) error {
	list, err := w.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("can't list persistentvolumes: %w", err)
	}
	pvs := make([]*claim.PV, len(list.Items))
	for i := range list.Items {
		pvs[i] = claim.NewPV(&list.Items[i])
	}
	w.store.ReplacePVs(pvs)
	return nil
}

func (w *world) loadClasses(ctx context.Context) error {
	list, err := w.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("can't list storageclasses: %w", err)
	}
	for i := range list.Items {
		w.store.SetStorageClass(claim.NewStorageClass(&list.Items[i]))
	}
	return nil
}

// loadPVCs reads the PVCs of the input's names, and those that share their claims.
func (w *world) loadPVCs(ctx context.Context) error {
	var questions []claim.Question
	for key, c := range w.applied.pvcs {
		questions = append(questions, claim.Question{Kind: claim.AskPVC, Namespace: key.Namespace, Name: key.Name})
		if name := c.Labels[w.rules.Keys.Claim]; name != "" {
			questions = append(questions, claim.Question{Kind: claim.AskClaim, Namespace: key.Namespace, Name: name})
		}
	}
	facts, err := w.live.Read(ctx, questions)
	if err != nil {
		return err
	}
	for _, answer := range facts {
		for _, p := range answer.PVCs {
			w.store.SetPVC(p)
		}
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/lookup"
)

// flagSelector is the name of the flag that selects Nodes.
const flagSelector = "selector"

// parseSelector reads the flag that selects Nodes.
func parseSelector(text string) (labels.Selector, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, flagError(flagSelector, "%w", err)
	}
	return selector, nil
}

// inventory is a cluster read once: what plans are made from.
type inventory struct {
	rules *claim.Rules
	store *lookup.Store
	nodes []*claim.Node // sorted by name
	pvcs  []*claim.PVC  // of the namespaces that were asked for
}

// inventoryNeeds says what to read besides the Nodes.
type inventoryNeeds struct {
	namespaces []string // of the PVCs: none, some, or [metav1.NamespaceAll]
	selector   string   // of the PVCs, by label
	pvs        bool
}

// inventory reads the cluster file, or each list of the cluster once. What is
// not decisive and can't be read is a warning.
func (f *clusterFlags) inventory(ctx context.Context, rules *claim.Rules, needs inventoryNeeds) (inv *inventory, warning error, err error) {
	inv = &inventory{rules: rules}
	if f.file != "" {
		err = inv.readFile(f.file, needs)
	} else {
		warning, err = inv.readCluster(ctx, f, needs)
	}
	if err != nil {
		return nil, nil, err
	}
	inv.nodes = slices.SortedFunc(inv.store.View().AllNodes(), func(a, b *claim.Node) int { return strings.Compare(a.Name, b.Name) })
	return inv, warning, nil
}

// readFile reads the file twice: once for a View, and once for the names of
// its PVCs, which no View lists.
func (inv *inventory) readFile(file string, needs inventoryNeeds) error {
	cluster, err := lookup.ReadClusterFile(file, inv.rules)
	if err != nil {
		return err
	}
	inv.store = cluster.Store
	manifests, _ := loadFile(file, nil) // what is wrong with other objects is nothing to us
	for _, m := range manifests {
		namespace := m.namespace(metav1.NamespaceDefault)
		if m.isPVC() && (slices.Contains(needs.namespaces, metav1.NamespaceAll) || slices.Contains(needs.namespaces, namespace)) {
			inv.pvcs = append(inv.pvcs, inv.store.View().PVC(namespace, m.head.Metadata.Name))
		}
	}
	return nil
}

func (inv *inventory) readCluster(ctx context.Context, f *clusterFlags, needs inventoryNeeds) (warning, err error) {
	config, err := f.restConfig()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, preloadTimeout)
	defer cancel()
	w := &world{rules: inv.rules, store: lookup.NewStore(inv.rules)}
	inv.store = w.store
	if w.client, err = kubernetes.NewForConfig(lookup.LiveConfig(config)); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if err := w.loadNodes(ctx); err != nil {
		return nil, err
	}
	if inv.pvcs, err = w.listPVCs(ctx, needs); err != nil {
		return nil, err
	}
	if needs.pvs {
		warning = w.loadPVs(ctx)
	}
	return warning, nil
}

func (w *world) listPVCs(ctx context.Context, needs inventoryNeeds) ([]*claim.PVC, error) {
	var pvcs []*claim.PVC
	for _, namespace := range needs.namespaces {
		list, err := w.client.CoreV1().PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{LabelSelector: needs.selector})
		if err != nil {
			return nil, fmt.Errorf("can't list persistentvolumeclaims: %w", err)
		}
		for i := range list.Items {
			pvcs = append(pvcs, claim.NewPVC(&list.Items[i], &w.rules.Keys))
		}
	}
	w.store.ReplacePVCs(pvcs)
	return pvcs, nil
}

// reads is a View of the inventory. It is as new as can be, so nothing is read again.
func (inv *inventory) reads() *claim.Reads {
	return claim.NewReads(inv.store.View(), inv.rules, nil)
}

// selected are the names of the Nodes that a selector matches, sorted.
func (inv *inventory) selected(selector labels.Selector) []string {
	var names []string
	for _, n := range inv.nodes {
		if selector.Matches(labels.Set(n.Labels)) {
			names = append(names, n.Name)
		}
	}
	return names
}

package lookup

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"berth.dev/berth/webhook/claim"
)

// Informers keep a Store up to date with a cluster.
type Informers struct {
	reflectors []*cache.Reflector
	states     []*state
}

// NewInformers makes informers that write every Node, PersistentVolumeClaim,
// PersistentVolume and StorageClass of the cluster into the Store, once they
// run. They log a failure to read once for each reason, and its end.
func NewInformers(client kubernetes.Interface, store *Store, log *slog.Logger) *Informers {
	in := &Informers{}
	keys := &store.keys
	inform(in, client, log, resourceNodes, client.CoreV1().Nodes(), &sink[*corev1.Node, claim.Node]{
		convert: func(n *corev1.Node) *claim.Node { return store.pool.node(claim.NewNode(n)) },
		set:     store.SetNode,
		remove:  func(n *claim.Node) { store.DeleteNode(n.Name) },
		replace: store.ReplaceNodes,
	})
	inform(in, client, log, resourcePVCs, client.CoreV1().PersistentVolumeClaims(corev1.NamespaceAll), &sink[*corev1.PersistentVolumeClaim, claim.PVC]{
		convert: func(c *corev1.PersistentVolumeClaim) *claim.PVC { return store.pool.pvc(claim.NewPVC(c, keys)) },
		set:     store.SetPVC,
		remove:  func(p *claim.PVC) { store.DeletePVC(p.Namespace, p.Name) },
		replace: store.ReplacePVCs,
	})
	inform(in, client, log, resourcePVs, client.CoreV1().PersistentVolumes(), &sink[*corev1.PersistentVolume, claim.PV]{
		convert: func(v *corev1.PersistentVolume) *claim.PV { return store.pool.pv(claim.NewPV(v)) },
		set:     store.SetPV,
		remove:  func(v *claim.PV) { store.DeletePV(v.Name) },
		replace: store.ReplacePVs,
	})
	inform(in, client, log, resourceStorageClasses, client.StorageV1().StorageClasses(), &sink[*storagev1.StorageClass, claim.StorageClass]{
		convert: claim.NewStorageClass,
		set:     store.SetStorageClass,
		remove:  func(c *claim.StorageClass) { store.DeleteStorageClass(c.Name) },
		replace: store.ReplaceStorageClasses,
	})
	return in
}

// inform adds the informer of one resource.
func inform[L, O runtime.Object, V any](in *Informers, client kubernetes.Interface, log *slog.Logger, resource string, calls api[L], to *sink[O, V]) {
	to.state = newState(resource, log)
	in.states = append(in.states, to.state)
	var example O
	from := cache.ToListWatcherWithWatchListSemantics(source(calls, to.shrink, to.state), client)
	in.reflectors = append(in.reflectors, cache.NewReflectorWithOptions(from, example, to, cache.ReflectorOptions{
		Name:    "berth/" + resource,
		Backoff: relistBackoff(),
	}))
}

// relistBackoff is how long an informer waits before it tries again: at most
// 4.5 s with jitter, so that Berth is ready soon after its service account
// gets its permissions.
func relistBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 300 * time.Millisecond, Factor: 2, Jitter: 0.5, Cap: 3 * time.Second, Steps: 10}
}

// Run keeps the Store up to date until the context is done.
func (in *Informers) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, r := range in.reflectors {
		running.Go(func() { r.RunWithContext(ctx) })
	}
	running.Wait()
}

// Unsynced are the resources that were never listed, and why.
func (in *Informers) Unsynced() []ResourceState {
	var out []ResourceState
	for _, s := range in.states {
		if r, yes := s.unsynced(); yes {
			out = append(out, r)
		}
	}
	return out
}

// Synced is nil once every resource was listed; before, one line that says of
// each that was not why. What was synced stays so: a Store that falls behind
// later is made up for by live reads.
func (in *Informers) Synced() error {
	var reasons []string
	for _, r := range in.Unsynced() {
		reasons = append(reasons, r.Resource+": "+r.Reason)
	}
	if len(reasons) == 0 {
		return nil
	}
	return errors.New(strings.Join(reasons, "; "))
}

// States says of each resource whether it was listed.
func (in *Informers) States() map[string]bool {
	out := make(map[string]bool, len(in.states))
	for _, s := range in.states {
		out[s.resource] = s.synced()
	}
	return out
}

package cluster

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"berth.dev/berth/test/bench/world"
)

// batch is how many objects go into one transaction; etcd allows 128.
const batch = 100

// fill writes a world into an etcd as an API server stores it, in seconds; through
// the API it would take many minutes.
func fill(ctx context.Context, url string, w world.World) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("reach etcd: %w", err)
	}
	defer func() { _ = client.Close() }()
	out := &writer{client: client, encoder: protobuf.NewSerializer(clientgoscheme.Scheme, clientgoscheme.Scheme)}
	for n := range world.Namespaces {
		out.namespace(ctx, world.Namespace(n))
	}
	for n := range w.Nodes {
		out.put(ctx, "minions/"+world.NodeName(n), world.Node(n))
	}
	w.EachClaim(func(claim, node int) {
		out.put(ctx, "persistentvolumeclaims/"+world.Namespace(claim)+"/"+world.PVCName(claim, node), world.PVC(claim, node))
		out.put(ctx, "persistentvolumes/"+world.PVName(claim, node), world.PV(claim, node))
	})
	out.flush(ctx)
	if out.err != nil {
		return fmt.Errorf("write the world into etcd: %w", out.err)
	}
	return nil
}

// writer gathers objects; it does nothing after an error.
type writer struct {
	client  *clientv3.Client
	encoder runtime.Encoder
	puts    []clientv3.Op
	err     error
}

// namespace writes a Namespace, and the ServiceAccount without which it takes no pod.
func (w *writer) namespace(ctx context.Context, name string) {
	at := metav1.Now()
	w.put(ctx, "namespaces/"+name, &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "0", Labels: map[string]string{corev1.LabelMetadataName: name}, CreationTimestamp: at},
		Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	})
	w.put(ctx, "serviceaccounts/"+name+"/default", &corev1.ServiceAccount{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
		ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "default", UID: "0", CreationTimestamp: at},
	})
}

func (w *writer) put(ctx context.Context, key string, object runtime.Object) {
	if w.err != nil {
		return
	}
	var value []byte
	if value, w.err = runtime.Encode(w.encoder, object); w.err != nil {
		return
	}
	w.puts = append(w.puts, clientv3.OpPut("/registry/"+key, string(value)))
	if len(w.puts) == batch {
		w.flush(ctx)
	}
}

func (w *writer) flush(ctx context.Context) {
	if w.err == nil && len(w.puts) > 0 {
		_, w.err = w.client.Txn(ctx).Then(w.puts...).Commit()
		w.puts = w.puts[:0]
	}
}

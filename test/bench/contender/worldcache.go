package contender

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"berth.dev/berth/test/bench/world"
)

// CommonWayHandler is the common way's HTTP handler over a world, without a network:
// the library's webhook, and its cache filled from the world. The cache lives until
// the context is done.
func CommonWayHandler(ctx context.Context, w world.World) (http.Handler, error) {
	reader, err := worldCache(ctx, w)
	if err != nil {
		return nil, err
	}
	return &admission.Webhook{Handler: &CommonWay{Client: reader, Decoder: admission.NewDecoder(clientgoscheme.Scheme)}}, nil
}

// worldCache is controller-runtime's own cache, whose informers list the world
// instead of asking an API server.
func worldCache(ctx context.Context, w world.World) (client.Reader, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("PersistentVolume"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), meta.RESTScopeNamespace)
	c, err := cache.New(&rest.Config{Host: "127.0.0.1:0"}, cache.Options{
		Scheme: clientgoscheme.Scheme, Mapper: mapper, HTTPClient: &http.Client{},
		NewInformer: func(_ toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(lister(w, object), object, resync, indexers)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("make the cache: %w", err)
	}
	go func() { _ = c.Start(ctx) }() // it ends with the context
	for _, object := range []client.Object{&corev1.Node{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{}} {
		if _, err := c.GetInformer(ctx, object); err != nil {
			return nil, fmt.Errorf("fill the cache: %w", err)
		}
	}
	if !c.WaitForCacheSync(ctx) {
		return nil, errors.New("the cache did not fill")
	}
	return c, nil
}

// listWatch lists once; nothing ever happens.
type listWatch struct{ toolscache.ListWatch }

// IsWatchListSemanticsUnSupported tells the reflector to list.
func (*listWatch) IsWatchListSemanticsUnSupported() bool { return true }

// lister lists all objects of a type.
func lister(w world.World, object runtime.Object) toolscache.ListerWatcher {
	return &listWatch{toolscache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list(w, object), nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}}
}

func list(w world.World, object runtime.Object) runtime.Object {
	of := metav1.ListMeta{ResourceVersion: "1"}
	switch object.(type) {
	case *corev1.Node:
		out := &corev1.NodeList{ListMeta: of}
		for n := range w.Nodes {
			out.Items = append(out.Items, *world.Node(n))
		}
		return out
	case *corev1.PersistentVolume:
		out := &corev1.PersistentVolumeList{ListMeta: of}
		w.EachClaim(func(claim, node int) { out.Items = append(out.Items, *world.PV(claim, node)) })
		return out
	default:
		out := &corev1.PersistentVolumeClaimList{ListMeta: of}
		w.EachClaim(func(claim, node int) { out.Items = append(out.Items, *world.PVC(claim, node)) })
		return out
	}
}

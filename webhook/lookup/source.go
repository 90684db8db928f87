package lookup

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// api is the part of a typed client that an informer needs; L is its list type.
type api[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// source gives what a reflector lists and watches: the client's calls, with
// their outcome noted in the state, and with every page of a list made small
// before the next one is asked for.
func source[L runtime.Object](client api[L], shrink func(any) (runtime.Object, error), state *state) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			list, err := client.List(ctx, opts)
			if err != nil {
				state.failed(ctx, verbList, err)
				return nil, err
			}
			return shrunk(list, shrink)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := client.Watch(ctx, opts)
			if err != nil {
				state.failed(ctx, verbWatch, err)
				return nil, err
			}
			state.succeeded(verbWatch)
			return w, nil
		},
	}
}

// shrunk gives a list of the same resource version whose items are small.
func shrunk(list runtime.Object, shrink func(any) (runtime.Object, error)) (runtime.Object, error) {
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	out := &internalversion.List{
		ListMeta: metav1.ListMeta{ResourceVersion: accessor.GetResourceVersion(), Continue: accessor.GetContinue()},
		Items:    make([]runtime.Object, 0, meta.LenList(list)),
	}
	err = meta.EachListItem(list, func(obj runtime.Object) error {
		small, err := shrink(obj)
		if err == nil {
			out.Items = append(out.Items, small)
		}
		return err
	})
	return out, err
}

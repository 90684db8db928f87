package lookup

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// item carries one of our small types where client-go wants a runtime.Object
// (the pages of a list). It is immutable, so a copy is itself.
type item[V any] struct{ value *V }

// GetObjectKind is part of [runtime.Object].
func (i *item[V]) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject is part of [runtime.Object].
func (i *item[V]) DeepCopyObject() runtime.Object { return i }

// sink writes what a reflector reads of one resource into a Store. O is the
// pointer type of the API object, V our small type.
//
// The reflector hands API objects to Add, Update and Delete, and items to
// Replace: those that the source made of a list's pages, or those that
// [sink.Transformer] made in the temporary store of a streamed list. That
// store takes the key before it transforms (cache.Add in client-go's
// tools/cache/store.go), so an item needs no name of its own there.
type sink[O runtime.Object, V any] struct {
	convert func(O) *V
	set     func(*V)
	remove  func(*V)
	replace func([]*V)
	state   *state
}

// small turns what a reflector hands over into our small type.
func (s *sink[O, V]) small(obj any) (*V, error) {
	switch obj := obj.(type) {
	case *item[V]:
		return obj.value, nil
	case O:
		return s.convert(obj), nil
	}
	return nil, fmt.Errorf("unexpected %T among the %s", obj, s.state.resource)
}

// Add is part of [cache.ReflectorStore].
func (s *sink[O, V]) Add(obj any) error { return s.Update(obj) }

// Update is part of [cache.ReflectorStore].
func (s *sink[O, V]) Update(obj any) error {
	v, err := s.small(obj)
	if err == nil {
		s.set(v)
	}
	return err
}

// Delete is part of [cache.ReflectorStore].
func (s *sink[O, V]) Delete(obj any) error {
	v, err := s.small(obj)
	if err == nil {
		s.remove(v)
	}
	return err
}

// Replace is part of [cache.ReflectorStore]. Once it returns, the resource is
// synced.
func (s *sink[O, V]) Replace(list []any, _ string) error {
	values := make([]*V, len(list))
	for i, obj := range list {
		v, err := s.small(obj)
		if err != nil {
			return err
		}
		values[i] = v
	}
	s.replace(values)
	s.state.replaced()
	return nil
}

// Resync is part of [cache.ReflectorStore]: there is nothing to repeat.
func (s *sink[O, V]) Resync() error { return nil }

// Transformer is part of [cache.TransformingStore].
func (s *sink[O, V]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.shrink(obj) }
}

// shrink wraps the small type of an object; it is idempotent.
func (s *sink[O, V]) shrink(obj any) (runtime.Object, error) {
	v, err := s.small(obj)
	if err != nil {
		return nil, err
	}
	return &item[V]{value: v}, nil
}

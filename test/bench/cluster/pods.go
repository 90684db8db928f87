package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// DeletePods deletes all pods of a namespace until there are none and none comes: a
// controller that has not yet learned that its object is gone makes new ones.
func DeletePods(ctx context.Context, client kubernetes.Interface, namespace string) error {
	pods := client.CoreV1().Pods(namespace)
	quiet := 0 // looks that found none
	err := wait.PollUntilContextTimeout(ctx, deleteInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		list, err := pods.List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return false, err
		}
		if quiet++; len(list.Items) == 0 {
			return quiet == 3, nil
		}
		quiet = 0
		return false, pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{})
	})
	if err != nil {
		return fmt.Errorf("delete the pods of %s: %w", namespace, err)
	}
	return nil
}

// deleteInterval is how often DeletePods looks.
const deleteInterval = 250 * time.Millisecond

// Created calls begin and waits until so many pods of a namespace were created; each
// is called with every one of them. It looks through an informer: an API server under
// load ends watches that can't keep up.
func Created(ctx context.Context, client kubernetes.Interface, namespace string, count int, begin func() error, each func(*corev1.Pod) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	created := make(chan *corev1.Pod, count)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		if pod, ok := object.(*corev1.Pod); ok {
			select {
			case created <- pod:
			case <-ctx.Done():
			}
		}
	}})
	if err != nil {
		return fmt.Errorf("watch the pods of %s: %w", namespace, err)
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown() // after cancel: deferred calls run from the last to the first
	defer cancel()
	factory.WaitForCacheSyncWithContext(ctx)
	if err := begin(); err != nil {
		return err
	}
	for left := count; left > 0; left-- {
		select {
		case pod := <-created:
			if err := each(pod); err != nil {
				return err
			}
		case <-ctx.Done():
			return fmt.Errorf("%d pods of %s were not created: %w", left, namespace, ctx.Err())
		}
	}
	return nil
}

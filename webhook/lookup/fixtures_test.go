package lookup

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"berth.dev/berth/webhook/claim"
)

const (
	soon = 20 * time.Second     // until a test gives up
	tick = 5 * time.Millisecond // between looks
)

// setType writes apiVersion and kind, which JSON needs and Go values lack.
func setType(obj runtime.Object) {
	switch obj := obj.(type) {
	case *corev1.Node:
		obj.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	case *corev1.PersistentVolumeClaim:
		obj.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
	case *corev1.PersistentVolume:
		obj.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}
	case *storagev1.StorageClass:
		obj.TypeMeta = metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"}
	}
}

func typed[O runtime.Object](obj O) O {
	setType(obj)
	return obj
}

func apiNode(name string, labels map[string]string) *corev1.Node {
	return typed(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
}

func apiPVC(namespace, name, claimName, node string) *corev1.PersistentVolumeClaim {
	return typed(&corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{
			"berth.dev/claim": claimName, "berth.dev/node": node,
		}},
		Spec:   corev1.PersistentVolumeClaimSpec{VolumeName: "pv-" + name},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	})
}

func apiPV(name, host string) *corev1.PersistentVolume {
	return typed(&corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{Required: hostnameAffinity(host)}},
	})
}

func apiClass(name string) *storagev1.StorageClass {
	mode := storagev1.VolumeBindingWaitForFirstConsumer
	return typed(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "csi.example.com", VolumeBindingMode: &mode})
}

// journal keeps what was logged.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) Enabled(context.Context, slog.Level) bool { return true }
func (j *journal) WithAttrs([]slog.Attr) slog.Handler       { return j }
func (j *journal) WithGroup(string) slog.Handler            { return j }

func (j *journal) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
	return nil
}

// with gives the lines that contain every one of these.
func (j *journal) with(parts ...string) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, line := range j.lines {
		if !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) }) {
			out = append(out, line)
		}
	}
	return out
}

// run starts informers that end with the test.
func run(t *testing.T, in *Informers) {
	done := make(chan struct{})
	go func() {
		in.Run(t.Context())
		close(done)
	}()
	t.Cleanup(func() { <-done }) // the context has ended by then
}

func defaultStore() (*Store, *claim.Rules) {
	rules := claim.DefaultRules()
	return NewStore(&rules), &rules
}

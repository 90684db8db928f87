package deploy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// object is an API object with metadata.
type object interface {
	runtime.Object
	metav1.Object
}

// rendered is what is installed.
type rendered struct {
	release, namespace string
	objects            []object // in the order of the file
}

// newScheme knows the kinds that Berth is installed of, and no other.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, addAll(scheme,
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme,
		policyv1.AddToScheme, rbacv1.AddToScheme, storagev1.AddToScheme, cmv1.AddToScheme)
}

// addAll adds the kinds of several API groups.
func addAll(scheme *runtime.Scheme, adds ...func(*runtime.Scheme) error) error {
	for _, add := range adds {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// decode reads documents strictly: unknown kinds, unknown fields and fields
// that stand twice are errors.
func decode(text string) (*rendered, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	r := &rendered{}
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		if isComment(string(document)) {
			continue
		}
		decoded, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("decode %q: %w", firstLine(string(document)), err)
		}
		o, ok := decoded.(object)
		if !ok {
			return nil, fmt.Errorf("%T is no object", decoded)
		}
		r.objects = append(r.objects, o)
	}
}

// isComment tells whether a document has nothing but comments.
func isComment(document string) bool {
	for line := range strings.Lines(document) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// clone is a copy that can be broken.
func (r *rendered) clone() *rendered {
	out := &rendered{release: r.release, namespace: r.namespace}
	for _, o := range r.objects {
		c, ok := o.DeepCopyObject().(object)
		if ok {
			out.objects = append(out.objects, c)
		}
	}
	return out
}

// all are the objects of a type.
func all[T object](r *rendered) []T {
	var out []T
	for _, o := range r.objects {
		if typed, ok := o.(T); ok {
			out = append(out, typed)
		}
	}
	return out
}

// one is the object of a type, or an empty one if there isn't exactly one: the
// checks that look at it then complain.
func one[T any, P interface {
	*T
	object
}](r *rendered) P {
	if found := all[P](r); len(found) == 1 {
		return found[0]
	}
	return P(new(T))
}

// container is Berth's container, or an empty one.
func container(r *rendered) *corev1.Container {
	containers := one[appsv1.Deployment](r).Spec.Template.Spec.Containers
	if len(containers) != 1 {
		return &corev1.Container{}
	}
	return &containers[0]
}

// podLabels are what selectors have to match.
func podLabels(r *rendered) map[string]string {
	return one[appsv1.Deployment](r).Spec.Template.Labels
}

// certificateOf is the Certificate that writes a Secret, or nil.
func certificateOf(r *rendered, secret string) *cmv1.Certificate {
	found := all[*cmv1.Certificate](r)
	i := slices.IndexFunc(found, func(c *cmv1.Certificate) bool { return c.Spec.SecretName == secret })
	if i < 0 {
		return nil
	}
	return found[i]
}

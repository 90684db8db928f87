package lookup

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"berth.dev/berth/webhook/claim"
)

// resourceOf is the resource that a question is about.
func resourceOf(kind claim.QuestionKind) string {
	switch kind {
	case claim.AskNode, claim.AskNodesByLabel:
		return resourceNodes
	case claim.AskPV:
		return resourcePVs
	case claim.AskStorageClass:
		return resourceStorageClasses
	default:
		return resourcePVCs
	}
}

// subject names what a question asks for, resource first.
func subject(q claim.Question) string {
	resource := resourceOf(q.Kind)
	switch {
	case q == allNodes:
		return resource
	case q == allPVCs(q.Namespace):
		return fmt.Sprintf("%s in namespace %q", resource, q.Namespace)
	}
	switch q.Kind {
	case claim.AskNodesByLabel:
		return fmt.Sprintf("%s labelled %s=%q", resource, q.Name, q.Value)
	case claim.AskClaim:
		return fmt.Sprintf("%s of claim %q in namespace %q", resource, q.Name, q.Namespace)
	case claim.AskPVC:
		return fmt.Sprintf("%s %q in namespace %q", resource, q.Name, q.Namespace)
	default:
		return fmt.Sprintf("%s %q", resource, q.Name)
	}
}

// canExist tells whether the API server could know an object that answers the
// question. The names come from requests: one like "../nodes" must never
// become part of a path.
func (l *Live) canExist(q claim.Question) bool {
	switch q.Kind {
	case claim.AskNodesByLabel:
		return claim.IsLabelKey(q.Name) && claim.IsLabelValue(q.Value)
	case claim.AskClaim:
		return isNamespace(q.Namespace) && claim.IsClaimName(q.Name)
	case claim.AskPVC:
		return isNamespace(q.Namespace) && isObjectName(q.Name)
	case claim.AskStorageClass:
		return q.Name == "" || isObjectName(q.Name)
	default:
		return isObjectName(q.Name)
	}
}

// isNamespace and isObjectName are the rules for names of Namespaces, and of
// Nodes, PVCs, PVs and StorageClasses (pkg/apis/core/validation in
// Kubernetes). They admit nothing that isn't one segment of a path. A name of
// megabytes is not looked through.
func isNamespace(name string) bool {
	return len(name) <= validation.DNS1123LabelMaxLength && len(validation.IsDNS1123Label(name)) == 0
}

func isObjectName(name string) bool {
	return len(name) <= validation.DNS1123SubdomainMaxLength && len(validation.IsDNS1123Subdomain(name)) == 0
}

// call sends one request for a question. No resource version is given: the
// answer is the newest there is.
func (l *Live) call(ctx context.Context, q claim.Question) (claim.Answer, error) {
	switch q.Kind {
	case claim.AskNode:
		n, err := l.client.CoreV1().Nodes().Get(ctx, q.Name, metav1.GetOptions{})
		if err != nil {
			return claim.Answer{}, err
		}
		return claim.Answer{Nodes: []*claim.Node{claim.NewNode(n)}}, nil
	case claim.AskNodesByLabel:
		return l.nodesByLabel(ctx, q.Name, q.Value)
	case claim.AskPVC:
		c, err := l.client.CoreV1().PersistentVolumeClaims(q.Namespace).Get(ctx, q.Name, metav1.GetOptions{})
		if err != nil {
			return claim.Answer{}, err
		}
		return claim.Answer{PVCs: []*claim.PVC{claim.NewPVC(c, &l.keys)}}, nil
	case claim.AskClaim:
		return l.nodePVCs(ctx, q.Namespace, q.Name)
	case claim.AskPV:
		v, err := l.client.CoreV1().PersistentVolumes().Get(ctx, q.Name, metav1.GetOptions{})
		if err != nil {
			return claim.Answer{}, err
		}
		return claim.Answer{PV: claim.NewPV(v)}, nil
	case claim.AskStorageClass:
		if q.Name == "" {
			return l.defaultClass(ctx)
		}
		c, err := l.client.StorageV1().StorageClasses().Get(ctx, q.Name, metav1.GetOptions{})
		if err != nil {
			return claim.Answer{}, err
		}
		return claim.Answer{StorageClass: claim.NewStorageClass(c)}, nil
	}
	return claim.Answer{}, fmt.Errorf("unknown kind of question %d", q.Kind)
}

// nodesByLabel lists the Nodes that bear key=value, or all if there is no key. An absent label is not
// the empty string, whatever the selector key= matches.
func (l *Live) nodesByLabel(ctx context.Context, key, value string) (claim.Answer, error) {
	options := metav1.ListOptions{}
	if key != "" {
		options.LabelSelector = selector(key, value)
	}
	list, err := l.client.CoreV1().Nodes().List(ctx, options)
	if err != nil {
		return claim.Answer{}, err
	}
	var out []*claim.Node
	for i := range list.Items {
		if key == "" {
			out = append(out, claim.NewNode(&list.Items[i]))
			continue
		}
		if got, ok := list.Items[i].Labels[key]; ok && got == value {
			out = append(out, claim.NewNode(&list.Items[i]))
		}
	}
	return claim.Answer{Nodes: out}, nil
}

// nodePVCs lists the node PVCs of a claim, or all PVCs if there is no claim. The node is not selected by: it may
// stand in an annotation.
func (l *Live) nodePVCs(ctx context.Context, namespace, name string) (claim.Answer, error) {
	options := metav1.ListOptions{}
	if name != "" {
		options.LabelSelector = selector(l.keys.Claim, name)
	}
	list, err := l.client.CoreV1().PersistentVolumeClaims(namespace).List(ctx, options)
	if err != nil {
		return claim.Answer{}, err
	}
	var out []*claim.PVC
	for i := range list.Items {
		if p := claim.NewPVC(&list.Items[i], &l.keys); name == "" || p.IsNodePVC() && p.Claim == name {
			out = append(out, p)
		}
	}
	return claim.Answer{PVCs: slices.Clip(out)}, nil
}

// defaultClass lists the StorageClasses for the default one.
func (l *Live) defaultClass(ctx context.Context) (claim.Answer, error) {
	list, err := l.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if err != nil {
		return claim.Answer{}, err
	}
	var classes []*claim.StorageClass
	for i := range list.Items {
		classes = append(classes, claim.NewStorageClass(&list.Items[i]))
	}
	return claim.Answer{StorageClass: claim.DefaultClass(slices.Values(classes))}, nil
}

func selector(key, value string) string {
	return labels.Set{key: value}.AsSelectorPreValidated().String()
}

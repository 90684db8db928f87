package lookup

import (
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"berth.dev/berth/webhook/claim"
)

// Cluster is a cluster as a file describes it.
type Cluster struct {
	Store *Store
	// Namespaces are the labels of each Namespace in the file, by its name.
	Namespaces map[string]map[string]string
	// Skipped counts the objects of other kinds, by kind.
	Skipped map[string]int
}

// ReadClusterFile reads a cluster from a file: see [ReadCluster].
func ReadClusterFile(path string, rules *claim.Rules) (*Cluster, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the cluster file: %w", err)
	}
	defer func() { _ = file.Close() }()
	return ReadCluster(file, path, rules)
}

// ReadCluster reads a cluster from YAML or JSON as kubectl get writes it: any
// number of documents, single objects and Lists. Nodes, PersistentVolumeClaims,
// PersistentVolumes, StorageClasses and Namespaces count, fields that are not
// known are passed over, other kinds are skipped. The error is one line that
// says where in the file what is wrong; name is the file's name in it.
func ReadCluster(r io.Reader, name string, rules *claim.Rules) (*Cluster, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	docs, err := documents(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &clusterReader{keys: &rules.Keys, places: map[string]string{}, cluster: &Cluster{
		Store: NewStore(rules), Namespaces: map[string]map[string]string{}, Skipped: map[string]int{},
	}}
	for _, d := range docs {
		if err := f.read(d); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", name, d.place, err)
		}
	}
	return f.finish(), nil
}

// clusterReader gathers the objects of a file, to store them at once.
type clusterReader struct {
	keys    *claim.Keys
	cluster *Cluster
	places  map[string]string // where an object stands, by kind, namespace and name

	nodes   []*claim.Node
	pvcs    []*claim.PVC
	pvs     []*claim.PV
	classes []*claim.StorageClass
}

func (f *clusterReader) finish() *Cluster {
	store := f.cluster.Store
	store.ReplaceNodes(f.nodes)
	store.ReplacePVCs(f.pvcs)
	store.ReplacePVs(f.pvs)
	store.ReplaceStorageClasses(f.classes)
	return f.cluster
}

// knownVersion is the apiVersion of a kind that counts; "" for other kinds.
func knownVersion(kind string) string {
	switch kind {
	case "Node", "PersistentVolumeClaim", "PersistentVolume", "Namespace":
		return "v1"
	case "StorageClass":
		return "storage.k8s.io/v1"
	}
	return ""
}

// read takes one object in.
func (f *clusterReader) read(d document) error {
	want := knownVersion(d.Kind)
	if want == "" {
		f.cluster.Skipped[d.Kind]++
		return nil
	}
	var head metav1.PartialObjectMetadata
	if err := unmarshal(d.raw, &head); err != nil {
		return fmt.Errorf("%s cannot be decoded: %s", d.Kind, oneLine(err))
	}
	name := head.Name
	switch {
	case name == "":
		return fmt.Errorf("%s has no metadata.name", d.Kind)
	case d.APIVersion != want:
		return fmt.Errorf("%s %q has apiVersion %q: only %s can be read", d.Kind, name, d.APIVersion, want)
	}
	namespace := ""
	if d.Kind == "PersistentVolumeClaim" {
		if namespace = head.Namespace; namespace == "" {
			namespace = metav1.NamespaceDefault // as kubectl does
		}
	}
	if err := f.decode(d, namespace); err != nil {
		return fmt.Errorf("%s %q cannot be decoded: %s", d.Kind, name, oneLine(err))
	}
	return f.once(d, namespace, name)
}

// once refuses an object that the file has already.
func (f *clusterReader) once(d document, namespace, name string) error {
	key := d.Kind + "/" + namespace + "/" + name
	if before, twice := f.places[key]; twice {
		where := ""
		if namespace != "" {
			where = fmt.Sprintf(" in namespace %q", namespace)
		}
		return fmt.Errorf("%s %q%s stands in %s already", d.Kind, name, where, before)
	}
	f.places[key] = d.place
	return nil
}

// decode decodes an object of a known kind; namespace is that of a PVC.
func (f *clusterReader) decode(d document, namespace string) error {
	switch d.Kind {
	case "Node":
		return decoded(d, func(n *corev1.Node) { f.nodes = append(f.nodes, claim.NewNode(n)) })
	case "PersistentVolumeClaim":
		return decoded(d, func(c *corev1.PersistentVolumeClaim) {
			c.Namespace = namespace
			f.pvcs = append(f.pvcs, claim.NewPVC(c, f.keys))
		})
	case "PersistentVolume":
		return decoded(d, func(v *corev1.PersistentVolume) { f.pvs = append(f.pvs, claim.NewPV(v)) })
	case "StorageClass":
		return decoded(d, func(c *storagev1.StorageClass) { f.classes = append(f.classes, claim.NewStorageClass(c)) })
	}
	return decoded(d, func(n *corev1.Namespace) {
		f.cluster.Namespaces[n.Name] = n.Labels
	})
}

func decoded[T any](d document, take func(*T)) error {
	var object T
	if err := unmarshal(d.raw, &object); err != nil {
		return err
	}
	take(&object)
	return nil
}

// unmarshal decodes as the API server does: the case of field names counts.
func unmarshal(raw []byte, into any) error { return utiljson.Unmarshal(raw, into) }

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

package decoders

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	jsoniter "github.com/json-iterator/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	kjson "sigs.k8s.io/json"

	"berth.dev/berth/webhook/admission"
)

// review is what is read of a review, for decoders into structs.
type review struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Request    struct {
		UID      string `json:"uid"`
		Resource struct {
			Group, Version, Resource string
		} `json:"resource"`
		SubResource string `json:"subResource"`
		Name        string `json:"name"`
		Namespace   string `json:"namespace"`
		Operation   string `json:"operation"`
		Object      struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name            string            `json:"name"`
				GenerateName    string            `json:"generateName"`
				Annotations     map[string]string `json:"annotations"`
				OwnerReferences []struct {
					Kind       string `json:"kind"`
					Name       string `json:"name"`
					Controller *bool  `json:"controller"`
				} `json:"ownerReferences"`
			} `json:"metadata"`
			Spec struct {
				NodeName     string            `json:"nodeName"`
				NodeSelector map[string]string `json:"nodeSelector"`
				Affinity     struct {
					NodeAffinity struct {
						Required struct {
							Terms []struct {
								Expressions []requirement `json:"matchExpressions"`
								Fields      []requirement `json:"matchFields"`
							} `json:"nodeSelectorTerms"`
						} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
					} `json:"nodeAffinity"`
				} `json:"affinity"`
				Volumes []struct {
					Name string `json:"name"`
					PVC  *struct {
						ClaimName string `json:"claimName"`
					} `json:"persistentVolumeClaim"`
				} `json:"volumes"`
			} `json:"spec"`
		} `json:"object"`
	} `json:"request"`
}

type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// uid is what each decoder hands back, so that none can leave out its work.
type decoder func(body []byte) (uid string, err error)

func intoStruct(unmarshal func([]byte, any) error) decoder {
	return func(body []byte) (string, error) {
		var r review
		err := unmarshal(body, &r)
		return r.Request.UID, err
	}
}

// byPath reads what a DaemonSet's pod has with gjson, which looks for one path at a
// time and validates nothing.
func byPath(body []byte) (string, error) {
	found := gjson.GetManyBytes(body,
		"kind", "apiVersion", "request.uid", "request.resource", "request.subResource", "request.name", "request.namespace", "request.operation",
		"request.object.kind", "request.object.metadata.name", "request.object.metadata.generateName", "request.object.metadata.annotations",
		"request.object.metadata.ownerReferences", "request.object.spec.nodeName", "request.object.spec.nodeSelector",
		"request.object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
		"request.object.spec.volumes.#.persistentVolumeClaim.claimName")
	return found[2].String(), nil
}

func decoders() map[string]decoder {
	return map[string]decoder{
		"berth":             func(body []byte) (string, error) { r, err := admission.DecodeReview(body); return r.UID, err },
		"sigs.k8s.io_json":  intoStruct(kjson.UnmarshalCaseSensitivePreserveInts),
		"encoding_json":     intoStruct(json.Unmarshal),
		"encoding_json_v2":  intoStruct(func(b []byte, into any) error { return jsonv2.Unmarshal(b, into) }),
		"json-iterator":     intoStruct(jsoniter.ConfigCompatibleWithStandardLibrary.Unmarshal),
		"gjson_unvalidated": byPath,
		"floor_json.Valid":  func(body []byte) (string, error) { json.Valid(body); return uid, nil },
	}
}

const uid = "9235de34-d4fd-5d98-9802-d3c5e0294efb"

func daemonSetPod(t testing.TB) []byte {
	t.Helper()
	body, err := os.ReadFile("../../fixtures/pins/daemonset-pod/review.json")
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, body))
	return compact.Bytes()
}

func TestEachDecoderReadsTheReview(t *testing.T) {
	for name, decode := range decoders() {
		got, err := decode(daemonSetPod(t))
		require.NoError(t, err, name)
		assert.Equal(t, uid, got, name)
	}
}

func BenchmarkDecoders(b *testing.B) {
	body := daemonSetPod(b)
	for name, decode := range decoders() {
		b.Run("decoder="+name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decode(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

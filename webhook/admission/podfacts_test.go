package admission

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// The API server's own decoder into the API's own types is the measure of what
// Berth's scanner reads: the same facts from the same bytes.

// everyFact is a pod that has all that Berth reads.
const everyFact = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"n","generateName":"n-","labels":{"a":"b"},
"annotations":{"berth.dev/fills":"a","berth.dev/revision":"r","berth.dev/node-pvcs":"a=b","berth.dev/node-local-claims":"a","kubernetes.io/config.mirror":"m","x":"y"},
"ownerReferences":[{"kind":"DaemonSet","name":"d","controller":true,"uid":"u"},{"kind":"X","name":"x","controller":false},null]},
"spec":{"nodeName":"node-a","nodeSelector":{"disk":"ssd","zone":null},"hostNetwork":true,
"affinity":{"podAffinity":{},"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{},null,
{"matchFields":[{"key":"metadata.name","operator":"In","values":["node-a"]}],"matchExpressions":[{"key":"k","operator":"NotIn","values":["v",null]},{"key":"e","operator":"Exists"}]}]}}},
"volumes":[{"name":"v0","emptyDir":{}},null,{"persistentVolumeClaim":{"claimName":"c","readOnly":true},"name":"v2"},{"name":"v3","persistentVolumeClaim":null},{"name":"v4","persistentVolumeClaim":{}}],
"tolerations":[{"key":"t","operator":"Exists","effect":"NoSchedule","tolerationSeconds":3}],
"containers":[{"name":"c","env":[{"name":"A","value":"}]\""}]}]}}`

// inAPITypes are the facts of a pod as the API's types have them, in Berth's form.
func inAPITypes(p *corev1.Pod) *pod {
	out := &pod{kind: p.Kind}
	m, s := &out.metadata, &out.spec
	m.name, m.generateName, m.annotated = p.Name, p.GenerateName, p.Annotations != nil
	for _, key := range knownAnnotations {
		if value, ok := p.Annotations[key]; ok {
			m.annotations = append(m.annotations, annotation{key, value})
		}
	}
	for _, o := range p.OwnerReferences {
		owner := ownerReference{Kind: o.Kind, Name: o.Name}
		if o.Controller != nil && *o.Controller {
			owner.Controller = o.Controller
		}
		m.owners = append(m.owners, owner)
	}
	s.nodeName, s.nodeSelector, s.hostNetwork = p.Spec.NodeName, p.Spec.NodeSelector, p.Spec.HostNetwork
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		s.required = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	for i, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			s.volumes = append(s.volumes, pvcVolume{i, v.Name, v.PersistentVolumeClaim.ClaimName})
		}
	}
	return out
}

// assertSameFacts compares a pod as Berth read it with the API's.
func assertSameFacts(t testing.TB, want *corev1.Pod, got *pod, raw []byte) {
	t.Helper()
	inOrder := *got
	inOrder.metadata.annotations = nil
	for _, key := range knownAnnotations {
		for _, a := range got.metadata.annotations {
			if a.key == key {
				inOrder.metadata.annotations = append(inOrder.metadata.annotations, a)
			}
		}
	}
	var tolerations []corev1.Toleration
	if got.spec.tolerations != nil && json.Unmarshal(got.spec.tolerations, &tolerations) == nil && len(tolerations) == len(want.Spec.Tolerations) {
		inOrder.spec.tolerations = nil
	}
	wanted := inAPITypes(want)
	wanted.metadata.there = inOrder.metadata.there // the API's types don't tell null from {}
	assert.Equal(t, facts(t, wanted), facts(t, &inOrder), "%s", raw)
}

// facts is a pod as text, in which an empty list is none: for Berth, too.
func facts(t testing.TB, p *pod) string {
	required, err := json.Marshal(p.spec.required)
	require.NoError(t, err)
	text, err := json.Marshal([]any{
		p.kind, p.metadata.there, p.metadata.annotated, p.metadata.name, p.metadata.generateName, len(p.metadata.annotations), len(p.metadata.owners),
		p.spec.nodeName, len(p.spec.nodeSelector), p.spec.nodeSelector, p.spec.hostNetwork, len(p.spec.volumes), p.spec.required != nil,
	})
	require.NoError(t, err)
	out := string(text) + strings.ReplaceAll(string(required), `"nodeSelectorTerms":[]`, `"nodeSelectorTerms":null`)
	for _, a := range p.metadata.annotations {
		out += "\n" + a.key + "=" + a.value
	}
	for _, o := range p.metadata.owners {
		out += "\nowner " + o.Kind + " " + o.Name
		if o.Controller != nil {
			out += " controls"
		}
	}
	for _, v := range p.spec.volumes {
		out += "\nvolume " + v.name + " " + v.claimName + " at " + string(rune('0'+v.index%64))
	}
	return strings.ReplaceAll(out, `"nodeSelector":{}`, "null")
}

func TestAPodWithEveryFactIsReadAsTheAPIServerReadsIt(t *testing.T) {
	var want corev1.Pod
	require.NoError(t, kjson.UnmarshalCaseSensitivePreserveInts([]byte(everyFact), &want))
	got, err := decodePod([]byte(everyFact))
	require.NoError(t, err)
	assertSameFacts(t, &want, got, []byte(everyFact))
	assert.Len(t, got.metadata.annotations, len(knownAnnotations))
	assert.Equal(t, []pvcVolume{{2, "v2", "c"}, {4, "v4", ""}}, got.spec.volumes)
}

// TestAFactThatStandsTwiceIsRefused takes each field of a pod that Berth reads and
// writes it twice.
func TestAFactThatStandsTwiceIsRefused(t *testing.T) {
	for field, text := range map[string]string{
		"kind": `"Pod"`, "metadata": `{`, "spec": `{`, "name": `"n"`, "generateName": `"n-"`, "annotations": `{`, "ownerReferences": `[`,
		"berth.dev/fills": `"a"`, "berth.dev/revision": `"r"`, "berth.dev/node-pvcs": `"a=b"`, "berth.dev/node-local-claims": `"a"`, "kubernetes.io/config.mirror": `"m"`,
		"controller": `true`, "nodeName": `"node-a"`, "nodeSelector": `{`, "disk": `"ssd"`, "zone": `null`, "hostNetwork": `true`,
		"affinity": `{`, "nodeAffinity": `{`, "requiredDuringSchedulingIgnoredDuringExecution": `{`, "nodeSelectorTerms": `[`, "matchFields": `[`, "matchExpressions": `[`,
		"key": `"metadata.name"`, "operator": `"In"`, "values": `["node-a"]`, "volumes": `[`, "persistentVolumeClaim": `{"claimName"`, "claimName": `"c"`, "tolerations": `[`,
	} {
		t.Run(field, func(t *testing.T) {
			original := `"` + field + `":` + text
			require.Contains(t, everyFact, original)
			for _, again := range []string{"null", text} {
				if !json.Valid([]byte(again)) { // the beginning of an object or a list
					continue
				}
				twice := strings.Replace(everyFact, original, `"`+field+`":`+again+`,`+original, 1)
				_, err := decodePod([]byte(twice))
				require.ErrorContains(t, err, field+" stands there twice")
			}
		})
	}
}

func TestAReviewThatIsCutAnywhereIsNone(t *testing.T) {
	body, err := os.ReadFile("../../test/fixtures/pins/daemonset-pod/review.json")
	require.NoError(t, err)
	_, err = DecodeReview(body)
	require.NoError(t, err)
	whole := strings.TrimRight(string(body), "\n")
	for n := range whole {
		_, err := DecodeReview([]byte(whole[:n]))
		require.Error(t, err, "%d bytes", n)
	}
}

func TestAReviewsObjectIsReadInPassingOnlyForTheBytesItIsOf(t *testing.T) {
	body := []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE","resource":{"version":"v1","resource":"pods"},"object":` + everyFact + `}}`)
	req, err := DecodeReview(body)
	require.NoError(t, err)
	require.NotNil(t, req.passing.pod)
	other := *req
	other.Object = []byte(`{"spec":{"nodeName":"node-z"}}`)
	p, err := other.decodedPod()
	require.NoError(t, err)
	assert.Equal(t, "node-z", p.spec.nodeName)
	p, err = req.decodedPod()
	require.NoError(t, err)
	assert.Same(t, req.passing.pod, p)
}

// reviews are all fixtures' bodies.
func reviews(f *testing.F) {
	f.Helper()
	files, err := filepath.Glob("../../test/fixtures/*/*/review.json")
	require.NoError(f, err)
	require.NotEmpty(f, files)
	for _, file := range files {
		body, err := os.ReadFile(file)
		require.NoError(f, err)
		f.Add(body)
	}
}

// FuzzPodFacts holds Berth's reading of a pod against the API server's.
func FuzzPodFacts(f *testing.F) {
	f.Add([]byte(everyFact))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want corev1.Pod
		if kjson.UnmarshalCaseSensitivePreserveInts(raw, &want) != nil || isNull(raw) {
			_, _ = decodePod(raw)
			return
		}
		got, err := decodePod(raw)
		if err != nil {
			if !strings.Contains(err.Error(), "stands there twice") {
				t.Fatalf("%v: %q", err, raw)
			}
			return
		}
		assertSameFacts(t, &want, got, raw)
	})
}

// FuzzReviewFacts holds Berth's reading of a whole review against the API's types.
func FuzzReviewFacts(f *testing.F) {
	reviews(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := DecodeReview(body)
		var want admissionv1.AdmissionReview
		if kjson.UnmarshalCaseSensitivePreserveInts(body, &want) != nil {
			return // worse in what Berth doesn't read
		}
		if err != nil {
			if r := want.Request; r != nil && r.UID != "" && want.Kind == "AdmissionReview" && want.APIVersion == "admission.k8s.io/v1" && !strings.Contains(err.Error(), "stands there twice") {
				t.Fatalf("%v: %q", err, body)
			}
			return
		}
		r := want.Request
		assert.Equal(t, []string{string(r.UID), r.Resource.Group, r.Resource.Version, r.Resource.Resource, r.SubResource, string(r.Operation), r.Namespace, r.Name},
			[]string{got.UID, got.Group, got.Version, got.Resource, got.SubResource, got.Operation, got.Namespace, got.Name}, "%q", body)
		assert.Equal(t, present(r.Object.Raw), present(got.Object), "%q", body)
		assert.Equal(t, present(r.OldObject.Raw), present(got.OldObject), "%q", body)
		var pod corev1.Pod
		if got.passing.pod != nil && kjson.UnmarshalCaseSensitivePreserveInts(got.Object, &pod) == nil {
			assertSameFacts(t, &pod, got.passing.pod, got.Object)
		}
	})
}

// present is an object as it stands, where null is none.
func present(raw []byte) string {
	if isNull(raw) {
		return ""
	}
	return string(raw)
}

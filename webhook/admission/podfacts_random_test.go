package admission

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// shape is what a value of a pod is: an object with fields, a list, or a leaf.
type shape struct {
	fields map[string]shape
	item   *shape
	leaf   string // string, bool or map
}

// podShape is the part of a pod that Berth reads, and a little beside it.
func podShape() shape {
	text, flag, texts := shape{leaf: "string"}, shape{leaf: "bool"}, shape{leaf: "map"}
	list := func(of shape) shape { return shape{item: &of} }
	object := func(fields map[string]shape) shape { return shape{fields: fields} }
	requirement := object(map[string]shape{"key": text, "operator": text, "values": list(text)})
	terms := list(object(map[string]shape{"matchExpressions": list(requirement), "matchFields": list(requirement)}))
	return object(map[string]shape{
		"kind": text,
		"metadata": object(map[string]shape{
			"name": text, "generateName": text, "labels": texts, "annotations": texts,
			"ownerReferences": list(object(map[string]shape{"kind": text, "name": text, "controller": flag, "uid": text})),
		}),
		"spec": object(map[string]shape{
			"nodeName": text, "nodeSelector": texts, "hostNetwork": flag, "hostname": text,
			"affinity": object(map[string]shape{"nodeAffinity": object(map[string]shape{
				"requiredDuringSchedulingIgnoredDuringExecution": object(map[string]shape{"nodeSelectorTerms": terms}),
			})}),
			"volumes":     list(object(map[string]shape{"name": text, "persistentVolumeClaim": object(map[string]shape{"claimName": text, "readOnly": flag}), "emptyDir": {}})),
			"tolerations": list(object(map[string]shape{"key": text, "operator": text, "effect": text})),
		}),
	})
}

// scribe writes JSON as nobody would: with odd space, case, escapes, types and
// fields that stand twice.
type scribe struct {
	*rand.Rand
	strings.Builder
}

func (w *scribe) one(in int) bool { return w.IntN(in) == 0 }

func (w *scribe) pick(from ...string) string { return from[w.IntN(len(from))] }

func (w *scribe) space() {
	if w.one(20) {
		w.WriteString(w.pick(" ", "\n\t", "\r\n"))
	}
}

func (w *scribe) value(s shape) {
	w.space()
	defer w.space()
	switch {
	case w.one(40):
		w.WriteString("null")
	case w.one(400):
		w.WriteString(w.pick(`7`, `"x"`, `true`, `[]`, `{}`, `-1.5e99`, `[{"a":[null]}]`))
	case s.fields == nil && s.item == nil && s.leaf == "": // what nobody reads
		w.WriteString(w.pick(`7`, `{}`, `{"name":"}]\""}`, `[[],{"kind":null}]`))
	case s.leaf == "string":
		w.text(w.pick("", "a", "node-a", "In", "NotIn", "Exists", "metadata.name", "kubernetes.io/hostname", "DaemonSet", "model-cache", "é", "\U0001F600", "a\"b\\c\n"))
	case s.leaf == "bool":
		w.WriteString(w.pick("true", "false"))
	case s.item != nil:
		w.elements('[', ']', func() { w.value(*s.item) })
	case s.leaf == "map":
		w.elements('{', '}', func() { w.field(w.key(knownAnnotations[:]), shape{leaf: "string"}) })
	default:
		keys := slices.Sorted(maps.Keys(s.fields))
		w.elements('{', '}', func() {
			key := w.key(keys)
			w.field(key, s.fields[key])
		})
	}
}

// key is one of these, or something that is nearly one.
func (w *scribe) key(of []string) string {
	if len(of) == 0 || w.one(30) {
		return fmt.Sprintf("other-%d", w.IntN(1000))
	}
	key := of[w.IntN(len(of))]
	if w.one(50) {
		return strings.ToUpper(key[:1]) + key[1:]
	}
	return key
}

func (w *scribe) field(key string, s shape) {
	w.text(key)
	w.space()
	w.WriteByte(':')
	w.value(s)
}

func (w *scribe) elements(open, end byte, one func()) {
	w.WriteByte(open)
	for i := range w.IntN(4) {
		if i > 0 {
			w.WriteByte(',')
			w.space()
		}
		one()
	}
	w.WriteByte(end)
}

// text writes a string, now and then with escapes that need not be.
func (w *scribe) text(s string) {
	w.WriteByte('"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\' || r < ' ' || r < 0x10000 && w.one(60):
			_, _ = fmt.Fprintf(w, `\u%04x`, r)
		case i == 0 && w.one(300):
			w.WriteString("\xff")
		default:
			w.WriteRune(r)
		}
	}
	w.WriteByte('"')
}

func TestRandomPodsAreReadAsTheAPIServerReadsThem(t *testing.T) {
	const pods = 30_000
	read, twice := 0, 0
	for seed := range uint64(pods) {
		w := &scribe{Rand: rand.New(rand.NewPCG(seed, 1))}
		w.value(podShape())
		raw := []byte(w.String())
		var want corev1.Pod
		if isNull(raw) || kjson.UnmarshalCaseSensitivePreserveInts(raw, &want) != nil {
			continue
		}
		got, err := decodePod(raw)
		if err != nil {
			require.ErrorContains(t, err, "stands there twice", "seed %d: %s", seed, raw)
			twice++
			continue
		}
		read++
		assertSameFacts(t, &want, got, raw)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d pods were read, %d had a fact twice", read, twice)
	require.Greater(t, read, pods/4)
	require.Greater(t, twice, pods/100)
}

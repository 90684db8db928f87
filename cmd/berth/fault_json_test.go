package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostileTime is how long an answer to a body that is made to be slow may take;
// its reading over the network included.
const hostileTime = 5 * time.Second

// inObject is a review with something more in the pod: beside its spec, in a
// place that nobody reads.
func inObject(text string) string {
	return strings.Replace(daemonPod("u", "model-cache"), `"kind":"Pod",`, `"kind":"Pod","more":`+text+`,`, 1)
}

// hostileBodies are bodies that no API server sends, by what is odd about them.
func hostileBodies() map[string]string {
	good := daemonPod("u", "model-cache")
	deep := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	instead := func(old, now string) string { return strings.Replace(good, old, now, 1) }
	return map[string]string{
		"10,000 lists in the object":           inObject(deep("[", "]", 10_000)),
		"200,000 lists in the object":          inObject(deep("[", "]", 200_000)),
		"50,000 objects in the object":         inObject(deep(`{"a":`, "}", 50_000)[:5*50_000] + "1" + strings.Repeat("}", 50_000)),
		"8 million lists that never end":       strings.Repeat("[", 8_000_000),
		"a million objects that never end":     strings.Repeat(`{"request":`, 700_000),
		"deep lists where volumes should be":   instead(`"volumes":[`, `"volumes":`+deep("[", "]", 20_000)+`,"x":[`),
		"deep lists in an annotation":          instead(`"generateName":"vllm-"`, `"annotations":{"berth.dev/fills":`+deep("[", "]", 20_000)+`}`),
		"a number of a million digits":         inObject(strings.Repeat("9", 1_000_000)),
		"a number with a giant exponent":       inObject("1e999999999"),
		"a negative number of no size":         inObject("-1e-999999999"),
		"a number where the uid should be":     instead(`"uid":"u"`, `"uid":1e400`),
		"a string of 4 MiB":                    inObject(`"` + strings.Repeat("x", 4<<20) + `"`),
		"a string of 2 million escapes":        inObject(`"` + strings.Repeat(`\n`, 2_000_000) + `"`),
		"a claim name of 4,000,000 characters": daemonPod("u", strings.Repeat("x", 4_000_000)),
		"a uid of a megabyte":                  daemonPod(strings.Repeat("u", 1<<20), "model-cache"),
		"a kind of a megabyte":                 instead("AdmissionReview", strings.Repeat("k", 1<<20)),
		"the uid twice":                        instead(`"uid":"u"`, `"uid":"u","uid":"v"`),
		"the request twice":                    instead(`"request":{`, `"request":{"uid":"v"},"request":{`),
		"the object twice":                     instead(`"object":{`, `"object":{"kind":"Pod"},"object":{`),
		"the volumes twice":                    instead(`"volumes":[`, `"volumes":[],"volumes":[`),
		"the claim name twice":                 instead(`"claimName":`, `"claimName":"other","claimName":`),
		"a key 500,000 times":                  inObject(`{` + strings.TrimSuffix(strings.Repeat(`"k":1,`, 500_000), ",") + `}`),
		"500,000 different keys":               inObject(`{` + strings.TrimSuffix(manyKeys(500_000), ",") + `}`),
		"every key in capitals":                strings.NewReplacer(`"kind"`, `"KIND"`, `"request"`, `"REQUEST"`, `"object"`, `"OBJECT"`).Replace(good),
		"the volumes' key in other case":       instead(`"volumes"`, `"Volumes"`),
		"the claim's key in other case":        instead(`"claimName"`, `"ClaimName"`),
		"both cases of the claim's key":        instead(`"claimName":`, `"ClaimName":"other","claimName":`),
		"a long s for an s":                    instead(`"volumes"`, `"volumeſ"`),
		"invalid UTF-8 in a name":              instead(`model-cache`, "model\xff\xfe\xc0\x80"),
		"invalid UTF-8 in a key":               inObject("{\"\xed\xa0\x80\":1}"),
		"half of a surrogate pair":             instead(`model-cache`, `\ud800`),
		"a NUL in a name":                      instead(`model-cache`, `model\u0000cache`),
		"a raw NUL in a name":                  instead(`model-cache`, "model\x00cache"),
		"a raw newline in a name":              instead(`model-cache`, "model\ncache"),
		"NULs only":                            strings.Repeat("\x00", 1<<20),
		"a byte order mark":                    "\xef\xbb\xbf" + good,
		"UTF-16":                               utf16Of(good),
		"a second review after the first":      good + good,
		"a comment":                            "/* */" + good,
		"a key that is __proto__":              inObject(`{"__proto__":{"volumes":[]}}`),
		"100,000 volumes":                      instead(`"volumes":[`, `"volumes":[`+strings.Repeat(`{"name":"v","emptyDir":{}},`, 100_000)),
		"20,000 claims":                        instead(`"volumes":[`, `"volumes":[`+strings.Repeat(`{"name":"v","persistentVolumeClaim":{"claimName":"model-cache"}},`, 20_000)),
		"10,000 terms of affinity":             instead(`"nodeSelectorTerms":[`, `"nodeSelectorTerms":[`+strings.Repeat(`{"matchFields":[{"key":"metadata.name","operator":"In","values":["node-a"]}]},`, 10_000)),
		"5,000 hostnames":                      instead(`"nodeSelectorTerms":[{`, `"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":[`+manyHosts(5_000)+`]}],`),
		"an operator that is none":             instead(`"In"`, `"\u0000"`),
		"an annotation with a million commas":  instead(`"generateName":"vllm-"`, `"annotations":{"berth.dev/node-local-claims":"`+strings.Repeat(",", 1_000_000)+`"}`),
		"an annotation with 100,000 revisions": instead(`"generateName":"vllm-"`, `"annotations":{"berth.dev/revision":"`+strings.Repeat("a=b,", 100_000)+`"}`),
	}
}

func manyKeys(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, `"k%d":%d,`, i, i)
	}
	return out.String()
}

func manyHosts(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf(`"host-%d"`, i))
	}
	return strings.Join(out, ",")
}

func utf16Of(text string) string {
	out := []byte{0xff, 0xfe}
	for _, b := range []byte(text) {
		out = append(out, b, 0)
	}
	return string(out)
}

// hostile sends bodies and holds that each gets a decision or 400.
type hostile struct {
	t       *testing.T
	client  *http.Client
	codes   map[string]int
	took    time.Duration
	slowest string
}

// sends gives whether a decision came.
func (h *hostile) sends(what, body string) {
	begun := time.Now()
	code, answer, err := exchange(h.client, strings.NewReader(body))
	took := time.Since(begun)
	if took > h.took {
		h.took, h.slowest = took, what
	}
	if !assert.NoError(h.t, err, what) {
		return
	}
	switch {
	case code == http.StatusOK && bytes.Contains(answer, []byte(`"allowed":true`)):
		h.codes["admitted"]++
	case code == http.StatusOK && bytes.Contains(answer, []byte(`"allowed":false`)):
		h.codes["refused"]++
		assert.NotContains(h.t, string(answer), `"InternalError"`, what)
	default:
		h.codes[fmt.Sprint(code)]++
		assert.Equal(h.t, http.StatusBadRequest, code, "%s: %.300s", what, answer)
		assert.Less(h.t, len(answer), 600, "%s: what is wrong is told in a line", what)
	}
	assert.Less(h.t, took, hostileTime, what)
}

func (h *hostile) report(what string, sent int) {
	h.t.Logf("%s: %d bodies sent: %v; slowest %s (%s)", what, sent, h.codes, h.took.Round(time.Millisecond), h.slowest)
	h.codes, h.took = map[string]int{}, 0
}

func TestHostileJSONGetsADecisionOr400AndHarmsNobody(t *testing.T) {
	t.Parallel()
	p := serve(t, "--cluster-file="+clusterFile(t), "--shutdown-delay-duration=0s")
	h := &hostile{t: t, client: p.dialing(t).client(t), codes: map[string]int{}}
	bodies := hostileBodies()
	for what, body := range bodies {
		h.sends(what, body)
		require.NoError(t, rewritten(h.client, "next"), "after %s", what)
	}
	h.report("by hand", len(bodies))

	good := daemonPod("u", "model-cache")
	for i := range good {
		h.sends(fmt.Sprintf("cut off after %d bytes", i), good[:i])
	}
	assert.Equal(t, map[string]int{"400": len(good)}, h.codes, "half a review is none")
	h.report("cut off at every byte", len(good))

	odd := []byte{0, '"', '{', 0xff}
	for i := range good {
		for _, b := range odd {
			body := []byte(good)
			body[i] = b
			h.sends(fmt.Sprintf("byte %d is %q", i, b), string(body))
		}
	}
	h.report("every byte made another", len(good)*len(odd))
	require.NoError(t, rewritten(h.client, "last"))
	_, metrics := p.get(t, "/metrics")
	assert.Contains(t, metrics, "\nberth_panics_total 0\n")
	assert.False(t, slices.ContainsFunc(p.log(), func(r record) bool { return r["stack"] != nil }), "something panicked")
}

package lookup

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"berth.dev/berth/webhook/claim"
)

// observed counts what Live tells of its calls.
type observed struct {
	mu     sync.Mutex
	counts map[string]int
}

func (o *observed) observe(resource, result string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[string]int{}
	}
	o.counts[resource+" "+result]++
}

func (o *observed) all() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.counts)
}

func fakeLive(objs ...runtime.Object) (*Live, *fake.Clientset, *observed) {
	client := fake.NewClientset(objs...)
	o := &observed{}
	rules := claim.DefaultRules()
	return NewLive(client, &rules, o.observe), client, o
}

func annotatedPVC(name, claimName, node string) *corev1.PersistentVolumeClaim {
	c := apiPVC("ml", name, claimName, "")
	delete(c.Labels, "berth.dev/node")
	c.Annotations = map[string]string{"berth.dev/node": node}
	return c
}

func TestLiveAnswers(t *testing.T) {
	const hostname = corev1.LabelHostname
	long := strings.Repeat("n", 70) + ".example"
	objects := []runtime.Object{
		apiNode("a", map[string]string{hostname: "host-a"}), apiNode("b", map[string]string{hostname: ""}), apiNode("c", nil),
		apiPVC("ml", "x-a", "x", "a"), annotatedPVC("x-long", "x", long), apiPVC("ml", "serving", "x", ""),
		apiPVC("ml", "y-a", "y", "a"), apiPVC("lab", "x-b", "x", "b"), apiPV("v", "host-a"), apiClass("local"),
	}
	tests := map[string]struct {
		question claim.Question
		want     []string // what kind of object, and its name
		calls    map[string]int
	}{
		"a Node by its name": {claim.Question{Kind: claim.AskNode, Name: "a"}, []string{"node a"}, map[string]int{"nodes ok": 1}},
		"a Node that is not there is an empty answer": {
			claim.Question{Kind: claim.AskNode, Name: "gone"}, nil, map[string]int{"nodes notfound": 1}},
		"Nodes by a label": {
			claim.Question{Kind: claim.AskNodesByLabel, Name: hostname, Value: "host-a"}, []string{"node a"}, map[string]int{"nodes ok": 1}},
		"an absent label is not the empty string": {
			claim.Question{Kind: claim.AskNodesByLabel, Name: hostname}, []string{"node b"}, map[string]int{"nodes ok": 1}},
		"a PVC by its name": {
			claim.Question{Kind: claim.AskPVC, Namespace: "ml", Name: "serving"}, []string{"pvc ml/serving"}, map[string]int{"persistentvolumeclaims ok": 1}},
		"a PVC of another namespace is none": {
			claim.Question{Kind: claim.AskPVC, Namespace: "lab", Name: "serving"}, nil, map[string]int{"persistentvolumeclaims notfound": 1}},
		"the node PVCs of a claim, those by annotation too, and no PVC without a node": {
			claim.Question{Kind: claim.AskClaim, Namespace: "ml", Name: "x"}, []string{"pvc ml/x-a", "pvc ml/x-long"}, map[string]int{"persistentvolumeclaims ok": 1}},
		"a PV by its name":           {claim.Question{Kind: claim.AskPV, Name: "v"}, []string{"pv v"}, map[string]int{"persistentvolumes ok": 1}},
		"a StorageClass by its name": {claim.Question{Kind: claim.AskStorageClass, Name: "local"}, []string{"class local"}, map[string]int{"storageclasses ok": 1}},
		"no default class where none is annotated as one": {
			claim.Question{Kind: claim.AskStorageClass}, nil, map[string]int{"storageclasses ok": 1}},
		"a StorageClass that is not there": {
			claim.Question{Kind: claim.AskStorageClass, Name: "none"}, nil, map[string]int{"storageclasses notfound": 1}},
		"a name in two segments costs no call":    {claim.Question{Kind: claim.AskPV, Name: "a/b"}, nil, nil},
		"a name that climbs costs no call":        {claim.Question{Kind: claim.AskNode, Name: ".."}, nil, nil},
		"an escaped name costs no call":           {claim.Question{Kind: claim.AskPVC, Namespace: "ml", Name: "a%2fb"}, nil, nil},
		"no name costs no call":                   {claim.Question{Kind: claim.AskPVC, Namespace: "ml"}, nil, nil},
		"no namespace costs no call":              {claim.Question{Kind: claim.AskClaim, Name: "x"}, nil, nil},
		"a namespace that climbs costs no call":   {claim.Question{Kind: claim.AskPVC, Namespace: "..", Name: "x"}, nil, nil},
		"too long a name costs no call":           {claim.Question{Kind: claim.AskNode, Name: strings.Repeat("a", 254)}, nil, nil},
		"a claim that is no label value is none":  {claim.Question{Kind: claim.AskClaim, Namespace: "ml", Name: "a,b"}, nil, nil},
		"a label value that can't be is on none":  {claim.Question{Kind: claim.AskNodesByLabel, Name: hostname, Value: "a b"}, nil, nil},
		"a label key that can't be is on no Node": {claim.Question{Kind: claim.AskNodesByLabel, Name: "a!", Value: "b"}, nil, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			live, client, o := fakeLive(objects...)
			facts, err := live.Read(t.Context(), []claim.Question{test.question, test.question})
			require.NoError(t, err)
			require.Contains(t, facts, test.question)
			assert.Equal(t, test.want, described(facts[test.question]))
			assert.Equal(t, test.calls, o.all())
			assert.Len(t, client.Actions(), len(test.calls), "a question asked twice is one")
		})
	}
}

func described(a claim.Answer) []string {
	var out []string
	for _, n := range a.Nodes {
		out = append(out, "node "+n.Name)
	}
	for _, p := range a.PVCs {
		out = append(out, "pvc "+p.Namespace+"/"+p.Name)
	}
	if a.PV != nil {
		out = append(out, "pv "+a.PV.Name)
	}
	if a.StorageClass != nil {
		out = append(out, "class "+a.StorageClass.Name)
	}
	slices.Sort(out)
	return out
}

func TestLiveKeepsWhatIsRead(t *testing.T) {
	pvc := annotatedPVC("x-a", "x", "a")
	pvc.CreationTimestamp = metav1.Unix(1000, 0)
	live, _, _ := fakeLive(pvc)
	q := claim.Question{Kind: claim.AskClaim, Namespace: "ml", Name: "x"}
	facts, err := live.Read(t.Context(), []claim.Question{q})
	require.NoError(t, err)
	assert.Equal(t, &claim.PVC{Namespace: "ml", Name: "x-a", Claim: "x", Node: "a", Phase: corev1.ClaimBound, VolumeName: "pv-x-a", Created: 1000},
		facts[q].PVCs[0])
}

func TestLiveSelectsByTheClaimLabelAlone(t *testing.T) {
	live, client, _ := fakeLive()
	_, err := live.Read(t.Context(), []claim.Question{{Kind: claim.AskClaim, Namespace: "ml", Name: "x"}})
	require.NoError(t, err)
	list := client.Actions()[0].(k8stesting.ListAction)
	assert.Equal(t, "berth.dev/claim=x", list.GetListRestrictions().Labels.String())
	assert.Equal(t, "ml", list.GetNamespace())
}

func TestLiveGivesAllAnswersOrNone(t *testing.T) {
	node := claim.Question{Kind: claim.AskNode, Name: "a"}
	for name, test := range map[string]struct {
		question       claim.Question
		verb, resource string
		want           string
	}{
		"a PVC":          {claim.Question{Kind: claim.AskPVC, Namespace: "ml", Name: "x"}, "get", "persistentvolumeclaims", `cannot read persistentvolumeclaims "x" in namespace "ml": no`},
		"a claim":        {claim.Question{Kind: claim.AskClaim, Namespace: "ml", Name: "x"}, "list", "persistentvolumeclaims", `cannot read persistentvolumeclaims of claim "x" in namespace "ml": no`},
		"Nodes":          {claim.Question{Kind: claim.AskNodesByLabel, Name: "k", Value: "v"}, "list", "nodes", `cannot read nodes labelled k="v": no`},
		"a PV":           {claim.Question{Kind: claim.AskPV, Name: "v"}, "get", "persistentvolumes", `cannot read persistentvolumes "v": no`},
		"a StorageClass": {claim.Question{Kind: claim.AskStorageClass, Name: "c"}, "get", "storageclasses", `cannot read storageclasses "c": no`},
	} {
		t.Run(name, func(t *testing.T) {
			live, client, o := fakeLive(apiNode("a", nil))
			client.PrependReactor(test.verb, test.resource, func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("no")
			})
			facts, err := live.Read(t.Context(), []claim.Question{node, test.question})
			require.EqualError(t, err, test.want)
			assert.Nil(t, facts)
			assert.Equal(t, 1, o.all()[test.resource+" error"])
		})
	}
}

func TestLiveSaysWhenItIsForbidden(t *testing.T) {
	live, client, _ := fakeLive()
	client.PrependReactor("get", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, forbidden("get", "nodes")
	})
	_, err := live.Read(t.Context(), []claim.Question{{Kind: claim.AskNode, Name: "a"}})
	assert.True(t, apierrors.IsForbidden(err))
	require.ErrorContains(t, err, `cannot read nodes "a": nodes is forbidden`)
}

func TestLiveWithoutQuestionsOrObserver(t *testing.T) {
	rules := claim.DefaultRules()
	live := NewLive(fake.NewClientset(), &rules, nil)
	facts, err := live.Read(t.Context(), nil)
	require.NoError(t, err)
	assert.Empty(t, facts)
	_, err = live.Read(t.Context(), []claim.Question{{Kind: claim.AskNode, Name: "a"}})
	require.NoError(t, err)
}

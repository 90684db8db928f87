package admission_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

func respond(t *testing.T, req *admission.Request, d admission.Decision) *admissionv1.AdmissionResponse {
	var review admissionv1.AdmissionReview
	require.NoError(t, json.Unmarshal(d.Respond(req), &review))
	assert.Equal(t, "AdmissionReview", review.Kind)
	assert.Equal(t, "admission.k8s.io/v1", review.APIVersion)
	assert.Equal(t, req.UID, string(review.Response.UID))
	assert.Nil(t, review.Request)
	return review.Response
}

func TestRespondAllowed(t *testing.T) {
	req := create(t, nil)
	r := respond(t, req, admission.Decision{})
	assert.True(t, r.Allowed)
	assert.Nil(t, r.Patch)
	assert.Nil(t, r.PatchType, "a patch type without a patch is an error to the API server")
	assert.Nil(t, r.Result)

	r = respond(t, req, admission.Decision{Node: "n", PVCs: "a=b", Patch: []admission.Operation{{Op: "add", Path: "/x", Value: "y"}}})
	assert.Equal(t, admissionv1.PatchTypeJSONPatch, *r.PatchType)
	assert.JSONEq(t, `[{"op":"add","path":"/x","value":"y"}]`, string(r.Patch))
	assert.Equal(t, map[string]string{"node": "n", "pvcs": "a=b"}, r.AuditAnnotations)
}

func TestRespondRefusedOfEveryReason(t *testing.T) {
	for _, reason := range claim.Reasons() {
		t.Run("if the reason is "+string(reason), func(t *testing.T) {
			r := respond(t, create(t, nil), admission.Decision{Reason: reason, Message: "why"})
			assert.False(t, r.Allowed)
			assert.Equal(t, reason.Code(), r.Result.Code)
			assert.Equal(t, "why", r.Result.Message)
			assert.Equal(t, string(reason), r.AuditAnnotations["reason"])
			assert.Nil(t, r.Patch)
			err := &apierrors.StatusError{ErrStatus: *r.Result}
			assert.False(t, apierrors.IsInvalid(err), "kubectl would print the causes and drop the message")
			_, retry := apierrors.SuggestsClientDelay(err)
			assert.False(t, retry, "client-go would retry inside the call and hold the controller's worker")
		})
	}
}

func TestRefusalHasCausesWithTheField(t *testing.T) {
	req := create(t, unpinned("scratch", "model"))
	d, _ := decide(cluster(), admission.Mutate, req)
	causes := respond(t, req, d).Result.Details.Causes
	require.Len(t, causes, 1)
	assert.Equal(t, "spec.volumes[1].persistentVolumeClaim.claimName", causes[0].Field)
	assert.Equal(t, "NotPinned", string(causes[0].Type))
	assert.Contains(t, causes[0].Message, "DaemonSet")
}

func TestWarningsAreFewShortAndDifferent(t *testing.T) {
	d := admission.Decision{Warnings: []string{"same", "same", strings.Repeat("é", 121), "two\nlines"}}
	for i := range 20 {
		d.Warnings = append(d.Warnings, strings.Repeat("x", i+1))
	}
	w := respond(t, create(t, nil), d).Warnings
	assert.Len(t, w, 10)
	assert.Equal(t, "same", w[0])
	assert.NotEqual(t, "same", w[1])
	assert.Equal(t, 120, utf8.RuneCountInString(w[1]))
	assert.Equal(t, "two lines", w[2])
}

func TestMessagesAreOneLineAndNameTheOwner(t *testing.T) {
	owner := func(kind, name string, controller bool) object {
		return object{"kind": "Pod", "metadata": object{"generateName": "x-", "ownerReferences": []any{
			object{"kind": "Other", "name": "other"}, object{"kind": kind, "name": name, "controller": controller},
		}}, "spec": object{"volumes": pvcVolumes("model")}}
	}
	for what, c := range map[string]struct {
		pod  any
		says string
	}{
		"if there is a controller, it is named":            {pod: owner("ReplicaSet", "vllm-1", true), says: `Pod of ReplicaSet "vllm-1" mounts node-local claim "model" (volume "v0"), but`},
		"if there is none, the prefix of the name":         {pod: owner("ReplicaSet", "vllm-1", false), says: `Pod "x-*" mounts`},
		"if the owner's name has a newline, still one":     {pod: owner("Replica\nSet", "a\nb\"c", true), says: `Pod of Replica Set "a\nb\"c" mounts`},
		"if there is a name, it is used":                   {pod: unpinned("model"), says: `Pod "free" mounts`},
		"if there is no metadata, still a sentence":        {pod: object{"spec": object{"volumes": pvcVolumes("model")}}, says: "Pod mounts"},
		"if nothing pins it, what to do and who has it":    {pod: unpinned("model"), says: "Use a DaemonSet, or pin the pod: nodeSelector kubernetes.io/hostname. Nodes that hold this claim: node-a, node-b."},
		"if the node name is long, the message is bounded": {pod: podOn(strings.Repeat("n", 253), map[string]string{"berth.dev/node-local-claims": "m"}, "m"), says: "m"},
	} {
		t.Run(what, func(t *testing.T) {
			d, _ := decide(cluster(), admission.Mutate, create(t, c.pod))
			assert.Contains(t, d.Message, c.says)
			assert.NotContains(t, d.Message, "\n")
			assert.Less(t, len(d.Message), 1024, "an Event's message is cut there")
			assert.NotContains(t, strings.ToLower(d.Message), "use spec.nodename")
		})
	}
}

func TestListsAreCutAtFive(t *testing.T) {
	v := cluster()
	for _, n := range []string{"node-c", "node-d", "node-e", "node-f", "node-g"} {
		v.PVCs = append(v.PVCs, nodePVC("model-"+n, n, "model"))
	}
	d, _ := decide(v, admission.Mutate, create(t, unpinned("model")))
	assert.Contains(t, d.Message, "node-a, node-b, node-c, node-d, node-e and 2 more.")
}

func TestUnreadableAndCrashed(t *testing.T) {
	req := create(t, nil)
	d := admission.Unreadable(req, errors.New("get nodes:\nconnection refused"))
	assert.Equal(t, claim.ClusterUnreadable, d.Reason)
	assert.Equal(t, "can't decide now: the cluster could not be read: get nodes: connection refused. Try again.", d.Message)
	assert.Equal(t, "error", d.Result())
	assert.Equal(t, int32(500), respond(t, req, admission.Crashed(req)).Result.Code)
}

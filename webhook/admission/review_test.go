package admission_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

func TestDecodeReview(t *testing.T) {
	head := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",`
	for what, c := range map[string]struct{ body, err string }{
		"if it is a review, it is read":                {body: head + `"request":{"uid":"u","operation":"CREATE","namespace":"ml","resource":{"group":"g","version":"v1","resource":"pods"}}}`},
		"if it has fields nobody knows, it is read":    {body: head + `"new":{"x":1e999},"request":{"uid":"u","later":[1,2]}}`},
		"if it is empty":                               {body: ``, err: "no AdmissionReview"},
		"if it is null":                                {body: `null`, err: `kind ""`},
		"if it is an empty object":                     {body: `{}`, err: `kind ""`},
		"if it is a list":                              {body: `[]`, err: "no AdmissionReview"},
		"if it is cut":                                 {body: head + `"request":{"uid":"u"`, err: "no AdmissionReview"},
		"if something follows it":                      {body: head + `"request":{"uid":"u"}} {}`, err: "no AdmissionReview"},
		"if it is v1beta1":                             {body: `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u"}}`, err: "v1beta1"},
		"if it is of another kind":                     {body: `{"kind":"Pod","apiVersion":"v1"}`, err: `kind "Pod"`},
		"if there is no request":                       {body: head + `"x":1}`, err: "no request"},
		"if the request is null":                       {body: head + `"request":null}`, err: "no request"},
		"if the request has no uid":                    {body: head + `"request":{}}`, err: "no uid"},
		"if the uid is no string":                      {body: head + `"request":{"uid":7}}`, err: "no AdmissionReview"},
		"if the field names are in another case":       {body: `{"Kind":"AdmissionReview","ApiVersion":"admission.k8s.io/v1","Request":{"UID":"u"}}`, err: `kind ""`},
		"if it is nested deeper than anybody would":    {body: head + `"request":{"uid":"u","object":` + strings.Repeat(`[`, 100000) + strings.Repeat(`]`, 100000) + `}}`, err: "no AdmissionReview"},
		"if it is no UTF-8 in a place nobody reads":    {body: head + "\"x\":\"\xff\",\"request\":{\"uid\":\"u\"}}"},
		"if the resource is a string and not a struct": {body: head + `"request":{"uid":"u","resource":"pods"}}`, err: "no AdmissionReview"},
	} {
		t.Run(what, func(t *testing.T) {
			req, err := admission.DecodeReview([]byte(c.body))
			if c.err == "" {
				require.NoError(t, err)
				assert.Equal(t, "u", req.UID)
				return
			}
			require.ErrorContains(t, err, c.err)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestObjectsThatAreNoPod(t *testing.T) {
	for what, object := range map[string]string{
		"if there is none":                      ``,
		"if it is null":                         `null`,
		"if its spec is a string":               `{"kind":"Pod","spec":"oops"}`,
		"if it is a list":                       `[]`,
		"if it is another kind":                 `{"kind":"Deployment","spec":{}}`,
		"if its volumes are an object":          `{"kind":"Pod","spec":{"volumes":{}}}`,
		"if a claimName is a number":            `{"kind":"Pod","spec":{"volumes":[{"persistentVolumeClaim":{"claimName":7}}]}}`,
		"if an annotation is a number":          `{"kind":"Pod","metadata":{"annotations":{"a":1}}}`,
		"if its terms are no list":              `{"kind":"Pod","spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":7}}}}}`,
		"if the field is right and the case is": `{"kind":"Pod","spec":{"volumes":[{"persistentVolumeClaim":{"claimName":["x"]}}]}}`,
	} {
		t.Run(what, func(t *testing.T) {
			req := create(t, nil)
			req.Object = []byte(object)
			d, unsettled := decide(cluster(), admission.Mutate, req)
			assert.Equal(t, claim.InvalidObject, d.Reason)
			assert.Equal(t, "error", d.Result())
			assert.Equal(t, int32(400), d.Reason.Code())
			assert.Empty(t, unsettled)
			assert.NotContains(t, d.Message, "\n")
		})
	}
}

func TestWhatPassesUndecoded(t *testing.T) {
	for what, change := range map[string]func(*admission.Request){
		"if it is an UPDATE":                    func(r *admission.Request) { r.Operation = "UPDATE" },
		"if it is a DELETE":                     func(r *admission.Request) { r.Operation = "DELETE" },
		"if it is a CONNECT":                    func(r *admission.Request) { r.Operation = "CONNECT" },
		"if it is a subresource":                func(r *admission.Request) { r.SubResource = "binding" },
		"if it is a resource of another group":  func(r *admission.Request) { r.Group = "metrics.k8s.io" },
		"if it is a resource that nobody knows": func(r *admission.Request) { r.Resource = "widgets" },
	} {
		t.Run(what, func(t *testing.T) {
			req := create(t, unpinned("model"))
			change(req)
			req.Object = []byte("no JSON at all")
			d, unsettled := decide(cluster(), admission.Mutate, req)
			assert.Equal(t, "allowed", d.Result())
			assert.Empty(t, unsettled)
		})
	}
}

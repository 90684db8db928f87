package admission_test

import (
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"berth.dev/berth/webhook/admission"
)

// seeds are whole reviews: as the API server sends them, and nearly so.
func seeds(f *testing.F) {
	for _, pod := range []any{
		podOn("node-a", nil, "model", "scratch"), unpinned("model"), podOn("node-b", map[string]string{nodePVCs: "model=model-node-a"}, "model-node-a"),
		podOn("node-c", map[string]string{"berth.dev/node-local-claims": "model", "berth.dev/revision": "model=sha256:1"}, "model"),
		object{"spec": object{"nodeName": "node-a", "nodeSelector": object{"kubernetes.io/hostname": "node-a"}, "volumes": pvcVolumes("model")}},
		nil, "oops", object{"spec": object{"affinity": object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": []any{object{}, object{"matchExpressions": []any{object{"key": "kubernetes.io/hostname", "operator": "NotIn", "values": []any{"node-b"}}}}}}}}, "volumes": pvcVolumes("model")}},
	} {
		body, err := json.Marshal(object{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": object{
			"uid": "u", "operation": "CREATE", "namespace": "ml", "resource": object{"version": "v1", "resource": "pods"}, "object": pod,
		}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	for resource, o := range map[string]any{
		`{"group":"apps","resource":"deployments"}`:             nest("spec.template", object{"spec": podSpec("", "model")}),
		`{"group":"apps","resource":"daemonsets"}`:              nest("spec.template", object{"spec": podSpec("", "model")}),
		`{"group":"apps","resource":"statefulsets"}`:            set(nil),
		`{"group":"batch","resource":"cronjobs"}`:               nest("spec.jobTemplate.spec.template", object{"spec": podSpec("node-a", "model")}),
		`{"group":"ray.io","resource":"rayclusters"}`:           nest("spec.workerGroupSpecs.*.template", object{"spec": podSpec("", "model")}),
		`{"group":"","resource":"persistentvolumeclaims"}`:      newPVC(nil),
		`{"group":"apps.kruise.io","resource":"statefulsets"}`:  set(func(s object) { s["reserveOrdinals"] = []any{0, "2-3"} }),
		`{"group":"example.com","resource":"widgets"}`:          nest("spec.template", object{"spec": podSpec("", "model")}),
		`{"group":"jobset.x-k8s.io","resource":"jobsets"}`:      nest("spec.replicatedJobs.*.template.spec.template", object{"spec": podSpec("", "model")}),
		`{"group":"apps","resource":"deployments","version":1}`: nil,
	} {
		for _, operation := range []string{"CREATE", "UPDATE"} {
			b, err := json.Marshal(object{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": object{
				"uid": "u", "operation": operation, "namespace": "ml", "resource": rawJSON([]byte(resource)), "object": o, "oldObject": newPVC(nil),
			}})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	f.Add([]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","uid":"v","object":{}}}`))
	f.Add([]byte(`[[[[`))
}

// FuzzDecodeReview: no bytes crash the decoder, and what it accepts has a uid.
func FuzzDecodeReview(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := admission.DecodeReview(body)
		if err == nil && req.UID == "" || err != nil && req != nil {
			t.Fatalf("request %+v, error %v", req, err)
		}
	})
}

// FuzzDecide runs the whole of the core, bytes to bytes: nothing crashes, the
// answer is a review with the request's uid, a refusal says why, and a patch
// applies and leads to a pod that passes both roads.
func FuzzDecide(f *testing.F) {
	seeds(f)
	v := cluster()
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := admission.DecodeReview(body)
		if err != nil {
			return
		}
		for _, road := range []admission.Road{admission.Mutate, admission.Validate} {
			d, _ := decide(v, road, req)
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal(d.Respond(req), &review); err != nil {
				t.Fatal(err)
			}
			// JSON has no bytes that are not UTF-8, so such a uid can't come back as it was
			if want, err := json.Marshal(req.UID); err != nil || !sameJSON(want, review.Response.UID) {
				t.Fatalf("uid %q became %q", req.UID, review.Response.UID)
			}
			if !d.Allowed() && (d.Message == "" || review.Response.Result.Code < 400) {
				t.Fatalf("refused without a word: %+v", d)
			}
			if len(d.Patch) > 0 {
				req2 := *req
				req2.Object = apply(t, req.Object, d)
				checkSettled(t, &req2)
			}
		}
	})
}

func sameJSON(want []byte, got any) bool {
	b, err := json.Marshal(got)
	return err == nil && string(b) == string(want)
}

func checkSettled(t *testing.T, req *admission.Request) {
	for _, road := range []admission.Road{admission.Mutate, admission.Validate} {
		if again, _ := decide(cluster(), road, req); again.Result() != "allowed" {
			t.Fatalf("%s of the patched pod: %s %s\n%s", road, again.Result(), again.Message, req.Object)
		}
	}
}

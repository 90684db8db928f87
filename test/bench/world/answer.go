package world

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

// Check holds that an answer is right for the review: its uid, its verdict, and the
// object after its patch. The error says what is wrong.
func (r *Review) Check(answer []byte) error {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil || review.Response == nil {
		return fmt.Errorf("%s: no answer: %q: %w", r.Name, answer, err)
	}
	response := review.Response
	switch {
	case response.UID != r.UID:
		return fmt.Errorf("%s: the answer has the uid %q instead of %q", r.Name, response.UID, r.UID)
	case response.Allowed == r.Denied:
		return fmt.Errorf("%s: allowed is %t: %v", r.Name, response.Allowed, response.Result)
	case (r.ClaimName == "") != (len(response.Patch) == 0):
		return fmt.Errorf("%s: the patch is %q", r.Name, response.Patch)
	case r.ClaimName == "":
		return nil
	}
	return r.checkPatch(response.Patch)
}

// checkPatch holds that the patch changes what it must, and nothing else.
func (r *Review) checkPatch(raw []byte) error {
	patched, err := r.Patched(raw)
	if err != nil {
		return err
	}
	want, err := r.wanted()
	if err != nil {
		return err
	}
	if !jsonpatch.Equal(patched, want) {
		return fmt.Errorf("%s: after the patch %s the object is %s instead of %s", r.Name, raw, patched, want)
	}
	return nil
}

// Patched is the review's object after a JSON patch.
func (r *Review) Patched(raw []byte) ([]byte, error) {
	object, err := r.object()
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: decode the patch %s: %w", r.Name, raw, err)
	}
	patched, err := patch.Apply(object)
	if err != nil {
		return nil, fmt.Errorf("%s: apply the patch %s: %w", r.Name, raw, err)
	}
	return patched, nil
}

// wanted is the object as it must become.
func (r *Review) wanted() ([]byte, error) {
	object, err := r.object()
	if err != nil {
		return nil, err
	}
	var pod corev1.Pod
	if err := json.Unmarshal(object, &pod); err != nil {
		return nil, fmt.Errorf("%s: decode the pod: %w", r.Name, err)
	}
	source := pod.Spec.Volumes[0].PersistentVolumeClaim
	pod.Annotations = map[string]string{"berth.dev/node-pvcs": source.ClaimName + "=" + r.ClaimName}
	source.ClaimName = r.ClaimName
	return json.Marshal(&pod)
}

func (r *Review) object() ([]byte, error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(r.Body, &review); err != nil {
		return nil, fmt.Errorf("%s: decode the review: %w", r.Name, err)
	}
	return review.Request.Object.Raw, nil
}

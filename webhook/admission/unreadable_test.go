package admission_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// TestAWorkloadThatIsNotReadIsNotLetThroughForThat: what Berth refuses to read must not
// pass where an odd shape may.
func TestAWorkloadThatIsNotReadIsNotLetThroughForThat(t *testing.T) {
	volume := `{"name":"cache","persistentVolumeClaim":{"claimName":"model"}}`
	of := func(volumes, more string) string {
		return `{"metadata":{"name":"w"` + more + `},"spec":{"template":{"spec":{"volumes":[` + volumes + `]}}}}`
	}
	plain := of(volume, "")
	twice := strings.Replace(plain, `"name":"cache"`, `"name":"a","name":"cache"`, 1)
	endless := of(volume+strings.Repeat(",{}", 100_001), "")
	odd := `{"metadata":{"name":"w"},"spec":{"template":7}}`
	for what, c := range map[string]struct {
		group, resource, object, old string
		reason                       claim.Reason
	}{
		"if a Rollout mounts the claim, it is refused":                          {"argoproj.io", "rollouts", plain, "", claim.NotPinned},
		"if a field of it stands twice":                                         {"argoproj.io", "rollouts", twice, "", claim.InvalidObject},
		"if its lists are endless":                                              {"argoproj.io", "rollouts", endless, "", claim.InvalidObject},
		"if a field of an unknown kind stands twice":                            {"example.com", "widgets", twice, "", claim.InvalidObject},
		"if an unknown kind has an odd shape, it passes":                        {"example.com", "widgets", odd, "", ""},
		"if a field of the old object stood twice, it had nothing":              {"apps", "deployments", plain, twice, claim.NotPinned},
		"if the old object's lists were endless, it had nothing":                {"apps", "deployments", plain, endless, claim.NotPinned},
		"if the old object mounted the claim, too, it passes":                   {"apps", "deployments", strings.Replace(plain, "cache", "data", 1), plain, ""},
		"if a field stands twice and the object is being deleted, it must pass": {"apps", "deployments", strings.Replace(twice, `"name":"w"`, `"name":"w","deletionTimestamp":"2026-01-01T00:00:00Z"`, 1), plain, ""},
	} {
		t.Run(what, func(t *testing.T) {
			req := &admission.Request{UID: "u", Group: c.group, Version: "v1", Resource: c.resource, Operation: "CREATE", Namespace: "ml", Object: []byte(c.object)}
			if c.old != "" {
				req.Operation, req.OldObject = "UPDATE", []byte(c.old)
			}
			d, _ := decide(cluster(), admission.Mutate, req)
			assert.Equal(t, c.reason, d.Reason, d.Message)
		})
	}
}

// TestWhatADecisionDoesNotReadOfAPodIsNotJudged: the API server has read the pod before.
func TestWhatADecisionDoesNotReadOfAPodIsNotJudged(t *testing.T) {
	req := create(t, nil)
	req.Object = []byte(`{"kind":"Pod","spec":{"tolerations":5,"nodeName":"node-a","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"model"}}]}}`)
	d, _ := decide(cluster(), admission.Mutate, req)
	assert.Equal(t, "rewritten", d.Result(), d.Message)
}

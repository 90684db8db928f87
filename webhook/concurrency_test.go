package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"

	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/claim/claimtest"
)

const (
	clients          = 16
	requestsOfClient = 1000
	crowdNodes       = 40
)

// crowd is a cluster in which each node's PVC bears a name of its own.
func crowd() *claimtest.View {
	v := &claimtest.View{}
	for i := range crowdNodes {
		name := fmt.Sprintf("node-%d", i)
		v.Nodes = append(v.Nodes, lagNode(name, name))
		v.PVCs = append(v.PVCs, lagPVC(fmt.Sprintf("data-of-%d", i), name))
		v.PVs = append(v.PVs, lagPV(fmt.Sprintf("data-of-%d", i), name))
	}
	return v
}

// crowdRequest is one of five kinds of request, and how its answer is told
// from every other's.
func crowdRequest(client, i int) (path, body string, check func(t assert.TestingT, status int, r *admissionv1.AdmissionResponse)) {
	uid := fmt.Sprintf("uid-%d-%d", client, i)
	n := (client*7 + i) % crowdNodes
	is := func(t assert.TestingT, status int, r *admissionv1.AdmissionResponse, allowed bool) bool {
		return assert.Equal(t, http.StatusOK, status) && assert.NotNil(t, r) && assert.Equal(t, uid, string(r.UID)) && assert.Equal(t, allowed, r.Allowed, "%+v", r.Result)
	}
	review := func(p lagPod) string { return strings.Replace(string(p.body()), `"uid":"u"`, `"uid":"`+uid+`"`, 1) }
	switch i % 5 {
	case 0: // rewritten to this node's PVC
		return "/mutate", review(lagPod{node: fmt.Sprintf("node-%d", n), claim: "model"}), func(t assert.TestingT, status int, r *admissionv1.AdmissionResponse) {
			if is(t, status, r, true) {
				assert.Contains(t, string(r.Patch), fmt.Sprintf(`"data-of-%d"`, n))
			}
		}
	case 1: // refused, naming this client's node
		return "/mutate", review(lagPod{host: "ghost-" + uid, claim: "model"}), func(t assert.TestingT, status int, r *admissionv1.AdmissionResponse) {
			if is(t, status, r, false) {
				assert.Contains(t, r.Result.Message, `"ghost-`+uid+`"`)
				assert.Empty(t, r.Patch)
			}
		}
	case 2: // the twin refuses what is left
		return "/validate", review(lagPod{node: fmt.Sprintf("node-%d", n), claim: "model"}), func(t assert.TestingT, status int, r *admissionv1.AdmissionResponse) {
			if is(t, status, r, false) {
				assert.Equal(t, "NodeLocalClaimLeft", r.AuditAnnotations["reason"])
			}
		}
	case 3: // left alone
		return "/mutate", review(lagPod{node: fmt.Sprintf("node-%d", n), claim: fmt.Sprintf("data-of-%d", n)}), func(t assert.TestingT, status int, r *admissionv1.AdmissionResponse) {
			if is(t, status, r, true) {
				assert.Empty(t, r.Patch)
			}
		}
	default: // garbage
		return "/mutate", `{"uid":"` + uid, func(t assert.TestingT, status int, _ *admissionv1.AdmissionResponse) {
			assert.Equal(t, http.StatusBadRequest, status)
		}
	}
}

// TestEveryAnswerIsItsOwn: 16,000 requests of 16 clients at once, over HTTPS
// and kept-alive connections: every answer has its own uid and its own decision.
func TestEveryAnswerIsItsOwn(t *testing.T) {
	v := crowd()
	rules := claim.DefaultRules()
	server := httptest.NewTLSServer(NewServer(configOf(NewPipeline(lagging{v, v}, &rules, &reader{answer: v.Answer}))).AdmissionHandler())
	t.Cleanup(server.Close)
	server.Client().Transport.(*http.Transport).MaxIdleConnsPerHost = clients

	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for i := range requestsOfClient {
				path, body, check := crowdRequest(client, i)
				status, response, err := postReview(server, path, body)
				if !assert.NoError(t, err) {
					return
				}
				check(t, status, response)
			}
		})
	}
	wg.Wait()
}

func postReview(server *httptest.Server, path, body string) (int, *admissionv1.AdmissionResponse, error) {
	resp, err := server.Client().Post(server.URL+path, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp.StatusCode, nil, err
	}
	var review admissionv1.AdmissionReview
	err = json.Unmarshal(b, &review)
	return resp.StatusCode, review.Response, err
}

// TestACrowdMeansSomething makes sure that the checks above can fail.
func TestACrowdMeansSomething(t *testing.T) {
	for i := range 4 {
		_, _, check := crowdRequest(3, i)
		probe := new(probeT)
		check(probe, http.StatusOK, &admissionv1.AdmissionResponse{UID: "uid-other"})
		require.True(t, probe.failed, "kind %d accepts another request's answer", i)
	}
}

type probeT struct{ failed bool }

func (p *probeT) Errorf(string, ...any) { p.failed = true }

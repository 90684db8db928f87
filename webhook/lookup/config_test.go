package lookup

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

func TestClientConfigurations(t *testing.T) {
	for agent, f := range map[string]func(*rest.Config) *rest.Config{"berth/live": LiveConfig, "berth/informers": InformerConfig} {
		t.Run(agent, func(t *testing.T) {
			in := &rest.Config{Host: "https://10.0.0.1", QPS: 5, Burst: 10, RateLimiter: flowcontrol.NewFakeAlwaysRateLimiter(), BearerToken: "t"}
			before := *in
			out := f(in)
			assert.Equal(t, before, *in, "the caller's stays as it is")
			assert.Equal(t, agent, out.UserAgent)
			assert.Equal(t, "application/vnd.kubernetes.protobuf", out.ContentType)
			assert.Equal(t, "application/vnd.kubernetes.protobuf,application/json", out.AcceptContentTypes)
			assert.EqualValues(t, -1, out.QPS)
			assert.Nil(t, out.RateLimiter)
			assert.Equal(t, "https://10.0.0.1", out.Host)
			assert.Equal(t, "t", out.BearerToken)
		})
	}
}

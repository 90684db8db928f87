package lookup

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// LiveConfig gives a copy of a client configuration for [NewLive]: protobuf,
// and no client-side rate limit, because requests wait for the answers (the
// API server has its own limits).
func LiveConfig(c *rest.Config) *rest.Config { return clientConfig(c, "berth/live") }

// InformerConfig gives a copy of a client configuration for [NewInformers],
// apart from the live client's, so that neither waits for the other.
func InformerConfig(c *rest.Config) *rest.Config { return clientConfig(c, "berth/informers") }

func clientConfig(c *rest.Config, userAgent string) *rest.Config {
	out := rest.CopyConfig(c)
	out.UserAgent = userAgent
	out.ContentType = runtime.ContentTypeProtobuf
	out.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	out.QPS, out.Burst, out.RateLimiter = -1, 0, nil
	return out
}

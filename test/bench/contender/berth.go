package contender

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"berth.dev/berth/test/bench/world"
	"berth.dev/berth/webhook"
	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
	"berth.dev/berth/webhook/lookup"
)

// Review goes from the bytes of an AdmissionReview to the bytes of its answer.
type Review func(ctx context.Context, body []byte) ([]byte, error)

// berthPipeline is Berth's pipeline over a world, which is the whole truth to it.
func berthPipeline(w world.World) *webhook.Pipeline {
	rules := claim.DefaultRules()
	store := lookup.NewStore(&rules)
	nodes := make([]*claim.Node, 0, w.Nodes)
	pvcs := make([]*claim.PVC, 0, w.Nodes*w.Claims)
	pvs := make([]*claim.PV, 0, w.Nodes*w.Claims)
	for n := range w.Nodes {
		nodes = append(nodes, claim.NewNode(world.Node(n)))
		for c := range w.Claims {
			pvcs = append(pvcs, claim.NewPVC(world.PVC(c, n), &rules.Keys))
			pvs = append(pvs, claim.NewPV(world.PV(c, n)))
		}
	}
	store.ReplaceNodes(nodes)
	store.ReplacePVCs(pvcs)
	store.ReplacePVs(pvs)
	return webhook.NewPipeline(store, &rules, nil)
}

// Berth is Berth from bytes to bytes, as its HTTP handler calls it.
func Berth(w world.World) Review {
	pipeline := berthPipeline(w)
	return func(ctx context.Context, body []byte) ([]byte, error) {
		answer, out, err := pipeline.Review(ctx, admission.Mutate, body, time.Now().Add(time.Minute))
		if err == nil {
			err = out.Err
		}
		return answer, err
	}
}

// BerthHandler is Berth's HTTP handler, without a network: routes, limits, metrics
// and log included.
func BerthHandler(w world.World) http.Handler {
	return webhook.NewServer(webhook.Config{
		Pipeline: berthPipeline(w), Metrics: webhook.NewMetrics(webhook.Gauges{}),
		Log: slog.New(slog.DiscardHandler), MaxRequestBytes: 8 << 20,
	}).AdmissionHandler()
}

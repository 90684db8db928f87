package webhook

import (
	"context"
	"log/slog"

	"berth.dev/berth/webhook/admission"
)

// logDecision writes one record for a decision: refusals at info, the rest at
// debug. Names only, never an object: a pod's environment may hold secrets.
func logDecision(ctx context.Context, log *slog.Logger, out *Outcome) {
	level, message := slog.LevelDebug, "request allowed"
	if out.Decision.Reason != "" {
		level, message = slog.LevelInfo, "request refused"
	}
	if !log.Enabled(ctx, level) {
		return
	}
	req, d := out.Request, &out.Decision
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs,
		slog.String("uid", req.UID),
		slog.String("operation", req.Operation),
		slog.String("resource", req.Resource),
		slog.String("namespace", req.Namespace),
		nameAttr(req),
		slog.String("node", d.Node),
		slog.String("claim", d.Claim),
		slog.String("pvcs", d.PVCs),
		slog.String("result", d.Result()),
		slog.String("reason", string(d.Reason)),
	)
	if out.Err != nil {
		attrs = append(attrs, slog.String("error", oneLine(out.Err.Error())))
	}
	log.LogAttrs(ctx, level, message, attrs...)
}

// nameAttr is the object's name, or what its name will begin with: pods of
// controllers have no name yet when they are admitted.
func nameAttr(req *admission.Request) slog.Attr {
	if req.Name == "" && req.GenerateName != "" {
		return slog.String("generateName", req.GenerateName)
	}
	return slog.String("name", req.Name)
}

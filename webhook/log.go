package webhook

import (
	"context"
	"log/slog"
	"strings"

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
		slog.String("uid", short(req.UID)),
		slog.String("operation", short(req.Operation)),
		slog.String("resource", short(req.Resource)),
		slog.String("namespace", short(req.Namespace)),
		nameAttr(req),
		slog.String("node", short(d.Node)),
		slog.String("claim", short(d.Claim)),
		slog.String("pvcs", short(d.PVCs)),
		slog.String("result", d.Result()),
		slog.String("reason", string(d.Reason)),
	)
	if out.Err != nil {
		attrs = append(attrs, slog.String("error", short(oneLine(out.Err.Error()))))
	}
	log.LogAttrs(ctx, level, message, attrs...)
}

// nameAttr is the object's name, or what its name will begin with: pods of
// controllers have no name yet when they are admitted.
func nameAttr(req *admission.Request) slog.Attr {
	if req.Name == "" && req.GenerateName != "" {
		return slog.String("generateName", short(req.GenerateName))
	}
	return slog.String("name", short(req.Name))
}

// mostLogged is how much of a text from a request is logged or sent back: names
// are shorter, and whoever can reach the port must not fill the disk.
const mostLogged = 512

// short cuts a text that is longer than any name.
func short(text string) string {
	if len(text) <= mostLogged {
		return text
	}
	return strings.ToValidUTF8(text[:mostLogged], "") + "…"
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"berth.dev/berth/webhook"
	"berth.dev/berth/webhook/admission"
	"berth.dev/berth/webhook/claim"
)

// The verdicts.
const (
	verdictAdmitted  = "admitted"  // as it is
	verdictRewritten = "rewritten" // admitted, with other claim names or an annotation
	verdictRefused   = "refused"
	verdictSkipped   = "skipped" // the API server would not ask Berth
)

// reviewResult is what became of one object. Its JSON is part of the interface.
type reviewResult struct {
	Source    string `json:"source"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Operation string `json:"operation"`
	Verdict   string `json:"verdict"`
	Code      int32  `json:"code,omitempty"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
	Node      string `json:"node,omitempty"`
	// Claims are the claim names that were replaced.
	Claims []claimGiven `json:"claims,omitempty"`
	// SelectedNode is where a node PVC's volume will be provisioned.
	SelectedNode string   `json:"selectedNode,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
	// Places are what the pods of a DaemonSet get, node by node.
	Places []placeGiven `json:"places,omitempty"`

	unsure bool // no decision could be made: the refusal says why
}

// claimGiven is a volume whose claim name was replaced.
type claimGiven struct {
	Volume string `json:"volume"`
	Claim  string `json:"claim"`
	PVC    string `json:"pvc"`
}

// placeGiven is what a DaemonSet's pod on one node gets for one claim.
type placeGiven struct {
	Node  string `json:"node"`
	Claim string `json:"claim"`
	State string `json:"state"`
	PVC   string `json:"pvc,omitempty"`
	// Outcome is what becomes of a pod there: mounts a PVC, waits for one, or is refused.
	Outcome string `json:"outcome"`
}

// judge decides about one object. An error means that it is no object that
// could be decided about.
func (w *world) judge(ctx context.Context, m *manifest) (*reviewResult, error) {
	if !m.isReview() && !m.isJudged() {
		return &reviewResult{
			Source: m.source, Kind: m.head.Kind, Namespace: m.head.Metadata.Namespace, Name: m.name(),
			Operation: string(admissionv1.Create), Verdict: verdictAdmitted,
		}, nil
	}
	body, err := w.body(m)
	if err != nil {
		return nil, err
	}
	req, err := admission.DecodeReview(body)
	if err != nil {
		return nil, err
	}
	r := newReviewResult(m, req)
	why, warning := w.skipped(ctx, req)
	if why != "" {
		r.Verdict, r.Message = verdictSkipped, why
		return r, nil
	}
	if warning != "" {
		r.Warnings = append(r.Warnings, warning)
	}
	return r, w.decide(ctx, r, body)
}

func newReviewResult(m *manifest, req *admission.Request) *reviewResult {
	r := &reviewResult{
		Source: m.source, Kind: kindOf(m, req), Namespace: req.Namespace, Name: req.Name, Operation: req.Operation,
	}
	if r.Name == "" {
		object := manifest{}
		_ = kjson.UnmarshalCaseSensitivePreserveInts(req.Object, &object.head) // only for the name
		r.Name = object.name()
	}
	return r
}

// decide sends a review through the webhook's own pipeline.
func (w *world) decide(ctx context.Context, r *reviewResult, body []byte) error {
	var live webhook.LiveReader // nil: the store is the whole truth
	facts := claim.Facts{}
	if w.live != nil {
		live = &appliedReader{world: w, facts: facts}
	}
	answer, out, err := webhook.NewPipeline(w.store, w.rules, live).Review(ctx, admission.Mutate, body, time.Now().Add(reviewTimeout))
	if err != nil {
		return err
	}
	if err := r.take(out, answer); err != nil {
		return err
	}
	if w.applied.assumed[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}] && out.Request.Resource == "persistentvolumeclaims" {
		r.Warnings = append(r.Warnings, "counts as bound to its PV here; apply what needs it only once it really is")
	}
	if r.Verdict != verdictRefused {
		r.places(out.Request, claim.NewReads(w.store.View(), w.rules, facts))
	}
	w.selectNode(r)
	return nil
}

// take takes over the decision, and what the client would be told.
func (r *reviewResult) take(out webhook.Outcome, answer []byte) error {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	d := out.Decision
	r.Node, r.Reason = d.Node, string(d.Reason)
	r.Warnings = append(r.Warnings, review.Response.Warnings...)
	switch {
	case !d.Allowed():
		r.Verdict, r.unsure = verdictRefused, d.Result() == "error"
		r.Code, r.Message = review.Response.Result.Code, review.Response.Result.Message
	case len(d.Patch) > 0:
		r.Verdict = verdictRewritten
		r.patched(out.Request, d.Patch)
	default:
		r.Verdict = verdictAdmitted
	}
	return nil
}

// patched says what a patch does to the object.
func (r *reviewResult) patched(req *admission.Request, patch []admission.Operation) {
	var object struct {
		Spec struct {
			Volumes []struct {
				Name string `json:"name"`
				PVC  struct {
					ClaimName string `json:"claimName"`
				} `json:"persistentVolumeClaim"`
			} `json:"volumes"`
		} `json:"spec"`
	}
	if req.Resource == "persistentvolumeclaims" {
		r.SelectedNode = r.Node
		return
	}
	_ = kjson.UnmarshalCaseSensitivePreserveInts(req.Object, &object) // it was decided about
	at := regexp.MustCompile(`^/spec/volumes/(\d+)/persistentVolumeClaim/claimName$`)
	for _, op := range patch {
		match := at.FindStringSubmatch(op.Path)
		if match == nil {
			continue
		}
		if i, err := strconv.Atoi(match[1]); err == nil && i < len(object.Spec.Volumes) {
			v := object.Spec.Volumes[i]
			r.Claims = append(r.Claims, claimGiven{Volume: v.Name, Claim: v.PVC.ClaimName, PVC: fmt.Sprint(op.Value)})
		}
	}
}

func (r *reviewResult) places(req *admission.Request, reads *claim.Reads) {
	for _, p := range admission.Places(req, reads) {
		r.Places = append(r.Places, placeGiven{Node: p.Node, Claim: p.Claim, State: string(p.State), PVC: p.PVC, Outcome: p.Outcome})
	}
}

// selectNode makes the node that Berth selects for a new PVC of the input known to
// the decisions that follow.
func (w *world) selectNode(r *reviewResult) {
	if r.SelectedNode == "" || !w.hasPVC(r.Namespace, r.Name) {
		return
	}
	if p := *w.store.View().PVC(r.Namespace, r.Name); !p.Bound() && p.SelectedNode == "" {
		p.SelectedNode = r.SelectedNode
		w.store.SetPVC(&p)
	}
}

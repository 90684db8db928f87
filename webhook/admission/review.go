package admission

import (
	"encoding/json"
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"
)

// Road is the path by which a review came.
type Road string

// The roads.
const (
	Mutate   Road = "mutate"   // may patch
	Validate Road = "validate" // sees the final object, never patches
)

// Request is what Berth reads of an AdmissionRequest.
type Request struct {
	UID                      string
	Group, Version, Resource string
	SubResource              string
	Operation                string
	Namespace                string // always the request's: an object's own may be empty (kubernetes#88282)
	Name                     string // empty where generateName is still to give one
	GenerateName             string // the object's, once a decision has read it
	Object                   []byte // raw JSON; nil or null on DELETE
	OldObject                []byte
}

// review is the part of an AdmissionReview that is read.
type review struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Request    *struct {
		UID      string `json:"uid"`
		Resource struct {
			Group    string `json:"group"`
			Version  string `json:"version"`
			Resource string `json:"resource"`
		} `json:"resource"`
		SubResource string          `json:"subResource"`
		Name        string          `json:"name"`
		Namespace   string          `json:"namespace"`
		Operation   string          `json:"operation"`
		Object      json.RawMessage `json:"object"`
		OldObject   json.RawMessage `json:"oldObject"`
	} `json:"request"`
}

// DecodeReview reads an AdmissionReview of admission.k8s.io/v1. An error is one
// line and means that the body is no such review, so no answer can bear its uid.
func DecodeReview(body []byte) (*Request, error) {
	var r review
	if err := unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("body is no AdmissionReview: %w", err)
	}
	if r.Kind != "AdmissionReview" || r.APIVersion != "admission.k8s.io/v1" {
		return nil, fmt.Errorf("body is no AdmissionReview of admission.k8s.io/v1: kind %q, apiVersion %q", r.Kind, r.APIVersion)
	}
	if r.Request == nil {
		return nil, errors.New("AdmissionReview has no request")
	}
	if r.Request.UID == "" {
		return nil, errors.New("AdmissionReview's request has no uid")
	}
	q := r.Request
	return &Request{
		UID: q.UID, Group: q.Resource.Group, Version: q.Resource.Version, Resource: q.Resource.Resource,
		SubResource: q.SubResource, Operation: q.Operation, Namespace: q.Namespace, Name: q.Name,
		Object: q.Object, OldObject: q.OldObject,
	}, nil
}

// decode reads an object of a request, or one line saying why it can't be read.
func decode(raw []byte, into any) error {
	if len(raw) == 0 || string(raw) == "null" {
		return errors.New("the request has no object")
	}
	return unmarshal(raw, into)
}

// unmarshal reads JSON as the API server does. An error names the field, and
// no type of Go's.
func unmarshal(raw []byte, into any) error {
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field == "" {
			return fmt.Errorf("it can't be a JSON %s", wrong.Value)
		}
		return fmt.Errorf("%s can't be a JSON %s", wrong.Field, wrong.Value)
	}
	return err
}

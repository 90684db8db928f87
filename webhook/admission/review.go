package admission

import (
	"encoding/json"
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"

	"berth.dev/berth/webhook/admission/scan"
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

	passing passing
}

// passing is a pod that DecodeReview read on its way, and the object that it is of.
type passing struct {
	pod *pod
	of  []byte
}

// review is the part of an AdmissionReview that is read.
type review struct {
	kind, apiVersion string
	hasRequest       bool
	request          Request
}

// DecodeReview reads an AdmissionReview of admission.k8s.io/v1, in one pass. An
// error is one line and means that the body is no such review, so no answer can
// bear its uid.
func DecodeReview(body []byte) (*Request, error) {
	s := scan.New(body)
	r := &review{}
	r.read(&s)
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("body is no AdmissionReview: %w", err)
	}
	if r.kind != "AdmissionReview" || r.apiVersion != "admission.k8s.io/v1" {
		return nil, fmt.Errorf("body is no AdmissionReview of admission.k8s.io/v1: kind %q, apiVersion %q", r.kind, r.apiVersion)
	}
	if !r.hasRequest {
		return nil, errors.New("AdmissionReview has no request")
	}
	if r.request.UID == "" {
		return nil, errors.New("AdmissionReview's request has no uid")
	}
	return &r.request, nil
}

func (r *review) read(s *scan.Scanner) {
	for s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "kind":
			s.Once(0)
			r.kind = s.String()
		case "apiVersion":
			s.Once(1)
			r.apiVersion = s.String()
		case "request":
			s.Once(2)
			r.hasRequest = s.Object()
			r.request.read(s)
		default:
			s.Skip()
		}
	}
	s.End()
}

// read reads a request that the scanner has gone into.
func (q *Request) read(s *scan.Scanner) {
	for s.Next() {
		switch string(s.Key()) {
		case "uid":
			s.Once(0)
			q.UID = s.String()
		case "resource":
			s.Once(1)
			q.readResource(s)
		case "subResource":
			s.Once(2)
			q.SubResource = s.String()
		case "name":
			s.Once(3)
			q.Name = s.String()
		case "namespace":
			s.Once(4)
			q.Namespace = s.String()
		case "operation":
			s.Once(5)
			q.Operation = s.String()
		case "object":
			s.Once(6)
			q.readObject(s)
		case "oldObject":
			s.Once(7)
			q.OldObject = s.Raw()
		default:
			s.Skip()
		}
	}
}

func (q *Request) readResource(s *scan.Scanner) {
	for s.Object(); s.Next(); {
		switch string(s.Key()) {
		case "group":
			s.Once(0)
			q.Group = s.String()
		case "version":
			s.Once(1)
			q.Version = s.String()
		case "resource":
			s.Once(2)
			q.Resource = s.String()
		default:
			s.Skip()
		}
	}
}

// readObject takes the object, and reads it in passing if it is known by now to be a
// pod that will be judged: the API server writes resource and operation before it.
// What is wrong with an object is no fault of the review: it is found again when
// the object is judged.
func (q *Request) readObject(s *scan.Scanner) {
	if q.judgesPod() {
		begin, p := s.Mark(), &pod{}
		if raw := p.readFrom(s); raw != nil {
			q.Object, q.passing = raw, passing{p, raw}
			return
		}
		s.Rewind(begin)
	}
	q.Object = s.Raw()
}

// decodedPod is the object as a pod, read once.
func (q *Request) decodedPod() (*pod, error) {
	p, of := q.passing.pod, q.passing.of
	if p == nil || isNull(q.Object) || len(of) != len(q.Object) || &of[0] != &q.Object[0] {
		var err error
		if p, err = decodePod(q.Object); err != nil {
			return nil, err
		}
	}
	if p.kind != "" && p.kind != "Pod" {
		return nil, fmt.Errorf("it is a %s", p.kind)
	}
	return p, nil
}

func (q *Request) judgesPod() bool {
	return q.Group == "" && q.Resource == "pods" && q.Operation == "CREATE" && q.SubResource == ""
}

// theObject is a request's object, or one line saying that there is none.
func theObject(raw []byte) ([]byte, error) {
	if isNull(raw) {
		return nil, errors.New("the request has no object")
	}
	return raw, nil
}

// decode reads an object of a request, or one line saying why it can't be read.
func decode(raw []byte, into any) error {
	if _, err := theObject(raw); err != nil {
		return err
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

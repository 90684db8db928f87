package claim

// Reason says in one word why a request was refused. The set is closed: it is
// a metric label, and the table in the package doc and the README lists it.
type Reason string

// The reasons. The package doc says of each who has to act.
const (
	NotPinned           Reason = "NotPinned"
	ContradictoryPin    Reason = "ContradictoryPin"
	NoNodePVC           Reason = "NoNodePVC"
	RevisionNotFound    Reason = "RevisionNotFound"
	AmbiguousNodePVC    Reason = "AmbiguousNodePVC"
	ScopeConflict       Reason = "ScopeConflict"
	VolumeOnAnotherNode Reason = "VolumeOnAnotherNode"
	SelectedOtherNode   Reason = "SelectedOtherNode"
	NeverBinds          Reason = "NeverBinds"
	UnboundNodePVC      Reason = "UnboundNodePVC"
	OtherNodesPVC       Reason = "OtherNodesPVC"
	NodeLocalClaimLeft  Reason = "NodeLocalClaimLeft"
	InvalidAnnotation   Reason = "InvalidAnnotation"
	TooManyVolumes      Reason = "TooManyVolumes"
	NotFilled           Reason = "NotFilled"
	ClusterUnreadable   Reason = "ClusterUnreadable"
	InvalidObject       Reason = "InvalidObject"
	InternalError       Reason = "InternalError"
)

// Reasons lists every reason, in the order of the package doc's table.
func Reasons() []Reason {
	return []Reason{
		NotPinned, ContradictoryPin, NoNodePVC, RevisionNotFound, AmbiguousNodePVC, ScopeConflict,
		VolumeOnAnotherNode, SelectedOtherNode, NeverBinds, UnboundNodePVC, OtherNodesPVC,
		NodeLocalClaimLeft, InvalidAnnotation, TooManyVolumes, NotFilled, ClusterUnreadable, InvalidObject, InternalError,
	}
}

// Code is the HTTP status code that goes with the reason: 422 where somebody
// must change an object, 503 where waiting is enough.
func (r Reason) Code() int32 {
	switch r {
	case NotFilled, ClusterUnreadable:
		return 503
	case InvalidObject:
		return 400
	case InternalError:
		return 500
	default:
		return 422
	}
}

// Refusal is why something can't be admitted, for the machine and for people.
type Refusal struct {
	Reason Reason
	Why    string // what is wrong, as the end of a sentence that names the claim
	Remedy string // what to do about it, a sentence of its own, without a full stop
}

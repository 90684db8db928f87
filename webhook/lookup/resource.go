package lookup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The resources that Berth reads, as in RBAC rules and metric labels.
const (
	resourceNodes          = "nodes"
	resourcePVCs           = "persistentvolumeclaims"
	resourcePVs            = "persistentvolumes"
	resourceStorageClasses = "storageclasses"
)

// Resources lists the resources that Berth reads, sorted.
func Resources() []string {
	return []string{resourceNodes, resourcePVCs, resourcePVs, resourceStorageClasses}
}

// failureClass says in a word or two what kind of failure a read ended in.
func failureClass(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return "forbidden"
	case apierrors.IsUnauthorized(err):
		return "unauthorized"
	case apierrors.IsTooManyRequests(err):
		return "throttled"
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return "timed out"
	case apierrors.ReasonForError(err) != "":
		return "refused"
	case isNetworkError(err):
		return "unreachable"
	}
	return "failed"
}

func isNetworkError(err error) bool {
	var netErr net.Error
	var urlErr *url.Error
	return errors.As(err, &netErr) || errors.As(err, &urlErr)
}

// failureText is a failure in one line: its class and what the API server or
// the network said.
func failureText(err error) string {
	return fmt.Sprintf("%s: %s", failureClass(err), oneLine(withoutURL(err)))
}

// withoutURL is the failure without the request's URL, which is long and says
// nothing that the resource does not.
func withoutURL(err error) error {
	var urlErr *url.Error
	if errors.As(err, &urlErr) {
		return urlErr.Err
	}
	return err
}

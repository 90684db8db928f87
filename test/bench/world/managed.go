package world

import (
	"encoding/json"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// manage gives an object the managedFields that the API server writes for it: one
// manager that owns every field.
func manage[O metav1.Object](object O, manager string) O {
	own(object, manager, allFields(object))
	return object
}

func own(object metav1.Object, manager string, fields owned) {
	at := born()
	object.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: fields.apiVersion, Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields.raw)),
	}})
}

// owned are the names of all fields of an object.
type owned struct {
	apiVersion string
	raw        []byte
}

// allFields names the fields of an object. The world is made of constants, so it
// panics if an object can't be encoded.
func allFields(object metav1.Object) owned {
	var fields map[string]any
	if err := json.Unmarshal(mustEncode(object), &fields); err != nil {
		panic(fmt.Errorf("decode %s: %w", object.GetName(), err))
	}
	out := map[string]any{}
	for _, part := range []string{"metadata", "spec", "status"} {
		if value, ok := fields[part].(map[string]any); ok && len(value) > 0 {
			out["f:"+part] = ownedFields(value, part == "metadata")
		}
	}
	return owned{apiVersion(fields), mustEncode(out)}
}

func apiVersion(fields map[string]any) string {
	version, _ := fields["apiVersion"].(string)
	return version
}

// ownedFields names every field below one; lists of named things by their names.
func ownedFields(value map[string]any, metadata bool) map[string]any {
	out := map[string]any{".": map[string]any{}}
	for key, field := range value {
		if metadata && (key == "name" || key == "namespace" || key == "creationTimestamp" || key == "uid") {
			continue
		}
		out["f:"+key] = ownedBelow(field)
	}
	return out
}

func ownedBelow(field any) any {
	switch field := field.(type) {
	case map[string]any:
		return ownedFields(field, false)
	case []any:
		items := map[string]any{}
		for _, item := range field {
			named, _ := item.(map[string]any)
			name, ok := named["name"].(string)
			// The ServiceAccount plugin adds its volume later, without a manager.
			if ok && !strings.HasPrefix(name, "kube-api-access-") {
				items[fmt.Sprintf(`k:{"name":%q}`, name)] = ownedFields(named, false)
			}
		}
		return items
	}
	return map[string]any{}
}

func mustEncode(value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Errorf("encode %T: %w", value, err))
	}
	return raw
}

package api

import (
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/golden"
)

const committed = "../../../docs/openapi.json"

// TestOpenAPIFile: docs/openapi.json is the document of these routes and types; and it is valid: see document.
func TestOpenAPIFile(t *testing.T) {
	if asuser.Second() {
		t.Skip("the checkout is there for the first run only")
	}
	doc := document(t)
	text := OpenAPI("v1")
	golden.File(t, committed, string(text))
	for _, rt := range routes(&handlers{}) {
		op := doc.Paths.Value(rt.path).GetOperation(rt.method)
		if op == nil || op.OperationID != rt.id || op.Summary == "" {
			t.Errorf("%s %s is not in the document", rt.method, rt.path)
		}
	}
	for name, s := range doc.Components.Schemas {
		if s.Value.Description == "" {
			t.Errorf("%s has no description", name)
		}
		for field, p := range s.Value.Properties {
			if (name == "Request" || name == "Refusal") && p.Value.Description == "" {
				t.Errorf("%s.%s has no description", name, field)
			}
		}
	}
	if strings.Contains(string(text), `"null"`) {
		t.Error("something may be null")
	}
}

// Package schema makes JSON schemas from Go types and their doc comments, for the OpenAPI document and for the input
// of MCP tools. It also has the strict JSON reader that HTTP and MCP share. Only this package imports
// jsonschema-go.
package schema

import "github.com/google/jsonschema-go/jsonschema"

// Schema is a JSON Schema of draft 2020-12, so that others need not import the library.
type Schema = jsonschema.Schema

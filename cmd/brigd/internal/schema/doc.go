// Package schema makes JSON schemas from Go types and their doc comments, for the OpenAPI document, for the input of
// MCP tools and for policies. It also has the strict JSON reader that HTTP and MCP share. Only this package imports
// jsonschema-go.
package schema

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is a JSON Schema of draft 2020-12, so that others need not import the library.
type Schema = jsonschema.Schema

// maxMessage bounds, in bytes, a message of the library, which quotes its input.
const maxMessage = 512

// Parse parses a schema.
func Parse(data []byte) (*Schema, error) {
	s := new(Schema)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	return s, nil
}

// Checker checks values against one schema; it may be used by many goroutines.
type Checker struct{ resolved *jsonschema.Resolved }

// Compile returns a Checker. References may lead only into the schema itself: nothing is loaded.
func Compile(s *Schema) (*Checker, error) {
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the schema is wrong: %w", err)
	}
	return &Checker{r}, nil
}

// Check checks a value: a map[string]any, a list, a string, a bool, a float64, or nil.
func (c *Checker) Check(value any) error {
	if err := c.resolved.Validate(value); err != nil {
		return shortened(err)
	}
	return nil
}

// CheckJSON checks a value in JSON. It also refuses what Scan refuses.
func (c *Checker) CheckJSON(data []byte) error {
	if err := Scan(data); err != nil {
		return err
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return shortened(err)
	}
	return c.Check(value)
}

// Validate checks one value against one schema. For many values, use Compile.
func Validate(s *Schema, value any) error {
	c, err := Compile(s)
	if err != nil {
		return err
	}
	return c.Check(value)
}

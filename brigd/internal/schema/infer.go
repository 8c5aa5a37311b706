package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"brig/brigd/engine"
	"brig/nsjail"
)

// For returns the schema of a Go type, without references. Fields with omitempty or omitzero are optional, and null is
// never allowed. It panics if the type has no JSON form, which is a programming error.
func For[T any]() *Schema { return infer(reflect.TypeFor[T](), special()) }

// Components returns the schemas of the types of values by their names. If one of the types has a field of another,
// which it does not embed, the schema has {"$ref": prefix + name}.
func Components(prefix string, values ...any) map[string]*Schema {
	known, types := special(), make([]reflect.Type, len(values))
	for i, v := range values {
		t := reflect.TypeOf(v)
		types[i] = t
		known[t] = &Schema{Ref: prefix + t.Name()}
	}
	out := map[string]*Schema{}
	for _, t := range types {
		others := maps.Clone(known)
		delete(others, t)
		if t.Kind() == reflect.Struct {
			for _, f := range reflect.VisibleFields(t) {
				if f.Anonymous { // its fields are the type's own
					delete(others, f.Type)
				}
			}
		}
		if s, ok := special()[t]; ok {
			out[t.Name()] = s
			continue
		}
		out[t.Name()] = infer(t, others)
	}
	return out
}

func infer(t reflect.Type, known map[reflect.Type]*Schema) *Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err))
	}
	dropNull(s)
	describe(t, s)
	return s
}

// special returns the schemas of types with a custom JSON form.
func special() map[reflect.Type]*Schema {
	zero := 0.0
	return map[reflect.Type]*Schema{
		reflect.TypeFor[engine.Size](): {Types: []string{"integer", "string"}, Minimum: &zero,
			Pattern:     `^[0-9]+([bB]|[kmgtpKMGTP]([iI]?[bB])?)?$`,
			Description: `bytes, or a text like "512m"`, Examples: []any{"512m"}},
		reflect.TypeFor[engine.Seconds](): {Types: []string{"number", "string"}, Minimum: &zero,
			Description: `seconds, or a text like "1m30s"`, Examples: []any{30}},
		reflect.TypeFor[engine.File](): {Description: "the content of a file: a text, or bytes as base64", AnyOf: []*Schema{
			{Type: "string"}, {Type: "object", AdditionalProperties: &Schema{Not: &Schema{}}, Properties: map[string]*Schema{
				"text":       {Type: "string", Description: "the content, if it is text"},
				"base64":     {Type: "string", ContentEncoding: "base64", Description: "the content, if it is not"},
				"executable": {Type: "boolean", Description: "makes the mode 0555 instead of 0444"},
			}, PropertyOrder: []string{"text", "base64", "executable"}}}},
		reflect.TypeFor[nsjail.Millis]():   {Type: "number", Description: "milliseconds"},
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}
}

// dropNull removes the null that the library allows for nil pointers and slices: an absent field is left out instead.
func dropNull(s *Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 {
		if s.Types = slices.Delete(s.Types, i, i+1); len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		} else if len(s.Types) == 0 {
			s.Types = nil
		}
	}
	for _, p := range s.Properties {
		dropNull(p)
	}
	dropNull(s.Items)
	dropNull(s.AdditionalProperties)
}

//go:embed descriptions.json
var descriptionsJSON []byte

// descriptions returns the doc comments of the JSON fields, by "package.Type.Field". A test generates the file from the
// source and fails if it is outdated.
var descriptions = sync.OnceValue(func() (m map[string]string) {
	if err := json.Unmarshal(descriptionsJSON, &m); err != nil {
		panic(err)
	}
	return m
})

// describe sets the description of each field of a struct, and of its nested structs, to the field's doc comment.
func describe(t reflect.Type, s *Schema) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		switch {
		case t.Kind() == reflect.Slice && s.Items != nil:
			s = s.Items
		case t.Kind() == reflect.Map && s.AdditionalProperties != nil:
			s = s.AdditionalProperties
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || s.Properties == nil {
		return
	}
	if s.Description == "" {
		s.Description = descriptions()[typeName(t)]
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		p := s.Properties[name]
		if p == nil {
			continue
		}
		describe(f.Type, p)
		owner := t // or the embedded struct that declares the field
		for _, i := range f.Index[:len(f.Index)-1] {
			owner = owner.Field(i).Type
		}
		if text := descriptions()[typeName(owner)+"."+f.Name]; text != "" {
			p.Description = text
		}
	}
}

// typeName returns the last element of the package path, and the type's name.
func typeName(t reflect.Type) string {
	path := t.PkgPath()
	return path[strings.LastIndexByte(path, '/')+1:] + "." + t.Name()
}

package policy

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	egress "brig/netns/egress/policy"
)

var update = flag.Bool("update", false, "write policy.schema.json")

func TestTheSchemaIsThatOfTheParser(t *testing.T) {
	want, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("policy.schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(SchemaFile) != string(want) {
		t.Error("policy.schema.json is another; go test -update writes it")
	}
}

// The parser's keys, the schema's and the tags of the types are the same.
func TestFieldsAreTheTagsOfTheTypes(t *testing.T) {
	p := &Policy{}
	for _, pair := range []struct {
		fields []field
		value  any
	}{{p.fields()[1:], Policy{}}, {p.Paths.fields(), Paths{}}, {p.Network.fields(), Network{}},
		{p.Limits.fields(), Limits{}},
		{p.Inputs.fields(), Inputs{}}, {(&Command{}).fields(), Command{}}} {
		var names []string
		for _, f := range pair.fields {
			names = append(names, f.Name)
			if f.Doc == "" {
				t.Errorf("%T: %s says nothing", pair.value, f.Name)
			}
		}
		if tags := tagsOf(reflect.TypeOf(pair.value)); !slices.Equal(tags, names) {
			t.Errorf("%T has the tags %v, the parser %v", pair.value, tags, names)
		}
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]struct {
				Properties map[string]any `json:"properties"`
			} `json:"properties"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(SchemaFile, &schema); err != nil {
		t.Fatal(err)
	}
	for path, typ := range map[string]any{"environment": Environment{}, "sandbox": Sandbox{}} {
		tags := tagsOf(reflect.TypeOf(typ))
		slices.Sort(tags)
		if got := keys(schema.Properties[path].Properties); !slices.Equal(got, tags) {
			t.Errorf("%s: %v and %v", path, got, tags)
		}
	}
	tags := tagsOf(reflect.TypeOf(egress.Policy{}))
	slices.Sort(tags)
	if got := keys(schema.Properties["network"].Properties["egress"].Properties); !slices.Equal(got, tags) {
		t.Errorf("egress: the schema has %v, the type %v", got, tags)
	}
}

func tagsOf(typ reflect.Type) (tags []string) {
	for i := range typ.NumField() {
		if f := typ.Field(i); f.IsExported() {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			tags = append(tags, tag)
		}
	}
	return tags
}

// A schema check of our own: enough of JSON Schema for the keywords that Schema uses.
func TestProfilesFitTheSchema(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(SchemaFile, &schema); err != nil {
		t.Fatal(err)
	}
	for _, name := range BuiltIn() {
		data, err := builtIn.ReadFile("profiles/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Fatal(name, err)
		}
		if why := fitsSchema(schema, doc); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
	for _, bad := range []string{`{"comands":[]}`, `{"commands":[{"allow":[]}]}`, `{"limits":{"memory":true}}`,
		`{"features":["root"]}`, `{"limits":{"wall":-1}}`, `[]`} {
		var doc any
		if err := json.Unmarshal([]byte(bad), &doc); err != nil {
			t.Fatal(err)
		}
		if fitsSchema(schema, doc) == "" {
			t.Error("the schema takes", bad)
		}
		if _, err := Parse([]byte(bad)); err == nil {
			t.Error("the parser takes", bad)
		}
	}
}

func fitsSchema(s map[string]any, v any) string {
	if some, ok := s["anyOf"].([]any); ok {
		for _, one := range some {
			if fitsSchema(one.(map[string]any), v) == "" {
				return ""
			}
		}
		return "nothing of anyOf fits"
	}
	if list, ok := s["enum"].([]any); ok && !slices.Contains(list, v) {
		return "not in the enum"
	}
	want, _ := s["type"].(string)
	switch v := v.(type) {
	case map[string]any:
		if want != "object" {
			return "an object"
		}
		properties := s["properties"].(map[string]any)
		for key, value := range v {
			p, ok := properties[key].(map[string]any)
			if !ok {
				return "no key " + key
			}
			if why := fitsSchema(p, value); why != "" {
				return key + ": " + why
			}
		}
		required, _ := s["required"].([]any)
		for _, key := range required {
			if _, ok := v[key.(string)]; !ok {
				return "no " + key.(string)
			}
		}
	case []any:
		if want != "array" {
			return "a list"
		}
		for _, item := range v {
			if why := fitsSchema(s["items"].(map[string]any), item); why != "" {
				return why
			}
		}
	case string:
		if want != "string" && s["enum"] == nil {
			return "a string"
		}
	case float64:
		if least, ok := s["exclusiveMinimum"].(float64); want != "number" && want != "integer" || ok && v <= least {
			return "a number"
		}
	case bool:
		if want != "boolean" {
			return "a boolean"
		}
	}
	return ""
}

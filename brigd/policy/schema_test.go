package policy

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"brig/internal/test/asuser"
	"brig/internal/test/golden"
	"brig/internal/test/must"
	egress "brig/netns/egress/policy"
	"brig/nsjail"
)

func TestTheSchemaIsThatOfTheTypes(t *testing.T) {
	var have map[string]any
	must.Do(t, json.Unmarshal(SchemaFile, &have))
	s := schemaOf(reflect.TypeFor[Policy]())
	s["properties"].(map[string]any)["$schema"] = map[string]any{"type": "string"}
	if bare := describe(nil, s, have); len(bare) > 0 {
		t.Errorf("policy.schema.json does not describe %q", bare)
	}
	s["$schema"], s["title"] = have["$schema"], have["title"]
	part(s, "name")["pattern"] = namePattern
	part(s, "extends")["pattern"] = namePattern
	for key, names := range map[string][]string{"require": mechanismNames(), "optional": mechanismNames(),
		"features": featureNames()} {
		items(part(s, key))["enum"] = names
	}
	items(part(s, "network", "modes"))["enum"] = []string{"none", "loopback", "egress", "host"}
	items(part(s, "shares"))["pattern"] = `^(\*|[a-z0-9][a-z0-9_-]{0,31})(:(` + strings.Join(ShareModes, "|") + `))?$`
	items(part(s, "sandbox", "operations"))["enum"] = operations
	want := must.Get(json.MarshalIndent(s, "", "  "))(t)
	want = append(want, '\n')
	if !asuser.Second() {
		golden.File(t, "policy.schema.json", string(want))
	}
	for where, names := range map[string][]string{"features": featureNames(), "sandbox operations": operations,
		"paths targets": workAreas} {
		text := part(s, strings.Fields(where)...)["description"].(string)
		for _, name := range names {
			if !strings.Contains(text, name) {
				t.Errorf("the description of %s does not name %s", where, name)
			}
		}
	}
}

// part returns the schema of a nested key of s.
func part(s map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		s = s["properties"].(map[string]any)[key].(map[string]any)
	}
	return s
}

func items(of map[string]any) map[string]any { return of["items"].(map[string]any) }

// describe copies the descriptions of another schema to s, and returns the keys of the policy's own objects that
// have none.
func describe(path []string, s, have map[string]any) (bare []string) {
	if text, ok := have["description"]; ok {
		s["description"] = text
	} else if len(path) > 0 && !slices.Contains(path[:len(path)-1], "egress") {
		bare = append(bare, strings.Join(path, "."))
	}
	own, _ := s["properties"].(map[string]any)
	for key := range own {
		if known, ok := have["properties"].(map[string]any)[key].(map[string]any); ok {
			bare = append(bare, describe(append(path, key), part(s, key), known)...)
		} else {
			bare = append(bare, strings.Join(append(path, key), "."))
		}
	}
	if path = append(path, "[]"); len(path) == 2 && path[0] == "commands" {
		known := have["items"].(map[string]any)["anyOf"].([]any)[1].(map[string]any)["properties"].(map[string]any)
		for key, k := range items(s)["anyOf"].([]any)[1].(map[string]any)["properties"].(map[string]any) {
			bare = append(bare, describe([]string{"commands", key}, k.(map[string]any), known[key].(map[string]any))...)
		}
	}
	return bare
}

// schemaOf returns the schema of what the parser takes for a type.
func schemaOf(typ reflect.Type) map[string]any {
	text := map[string]any{"type": "string"}
	anyOf := func(some ...any) map[string]any { return map[string]any{"anyOf": some} }
	quantity := func(pattern string) map[string]any {
		return anyOf(map[string]any{"type": "string", "pattern": pattern},
			map[string]any{"type": "number", "exclusiveMinimum": 0})
	}
	switch typ {
	case reflect.TypeFor[nsjail.Bytes]():
		return quantity(`^[0-9]+([kKmMgGtTpP]?([iI]?[bB])?)$`)
	case reflect.TypeFor[nsjail.Duration]():
		return quantity(`^[0-9.]+(ns|us|µs|ms|s|m|h)?([0-9.]+(ns|us|µs|ms|s|m|h))*$`)
	case reflect.TypeFor[int64]():
		return map[string]any{"type": "integer", "minimum": 1}
	case reflect.TypeFor[float64]():
		return map[string]any{"type": "number", "exclusiveMinimum": 0, "maximum": 1 << 16}
	case reflect.TypeFor[int]():
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.TypeFor[egress.Bytes]():
		return anyOf(text, schemaOf(reflect.TypeFor[int]()))
	case reflect.TypeFor[egress.Duration]():
		return text
	case reflect.TypeFor[egress.Ports]():
		return anyOf(map[string]any{"type": "integer", "minimum": 1, "maximum": 65535}, text)
	case reflect.TypeFor[egress.Mode]():
		return map[string]any{"enum": []string{"tcp", "tls", "http", "udp"}}
	case reflect.TypeFor[egress.Rule]():
		return anyOf(text, objectOf(typ))
	case reflect.TypeFor[Command]():
		one := objectOf(typ)
		one["required"] = []string{"command"}
		return anyOf(text, one)
	case reflect.TypeFor[*egress.Policy]():
		s := objectOf(typ.Elem())
		delete(s, "additionalProperties") // other formats that the egress policy reads have more
		return s
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return schemaOf(typ.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(typ.Elem())}
	case reflect.Struct:
		return objectOf(typ)
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	}
	return text
}

// objectOf returns the schema of a struct by its JSON tags.
func objectOf(typ reflect.Type) map[string]any {
	properties := map[string]any{}
	for _, f := range reflect.VisibleFields(typ) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() {
			properties[name] = schemaOf(f.Type)
		}
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// keys returns the sorted keys of a map.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func tagsOf(typ reflect.Type) (tags []string) {
	for _, f := range reflect.VisibleFields(typ) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() {
			tags = append(tags, tag)
		}
	}
	return tags
}

// A schema check of our own: enough of JSON Schema for the keywords that Schema uses.
func TestProfilesFitTheSchema(t *testing.T) {
	var schema map[string]any
	must.Do(t, json.Unmarshal(SchemaFile, &schema))
	for _, name := range BuiltIn() {
		data := must.Get(builtIn.ReadFile("profiles/" + name + ".json"))(t)
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
		must.Do(t, json.Unmarshal([]byte(bad), &doc))
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

// namePattern is the form of a profile's name, for the JSON Schema. validName checks the same.
const namePattern = `^[a-z0-9][a-z0-9._-]{0,63}$`

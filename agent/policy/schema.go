package policy

import (
	"encoding/json"
	"maps"
	"slices"

	_ "embed" // the schema
)

// SchemaFile is the JSON Schema of a policy, as it is kept beside this file for editors and validators. A test compares
// it with Schema.
//
//go:embed policy.schema.json
var SchemaFile []byte

// Schema makes the JSON Schema (draft 2020-12) of a policy from the parser's fields. The parser is stricter: it also
// judges what the values mean.
func Schema() ([]byte, error) {
	s := objectSchema((&Policy{}).fields())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "brig policy"
	s["description"] = "What an agent may do. Absent lists allow nothing, absent bounds bind nothing."
	properties, ok := s["properties"].(map[string]any)
	if ok {
		for key, names := range map[string][]string{"require": mechanismNames(), "optional": mechanismNames(), "features": featureNames()} {
			items(properties[key])["enum"] = names
		}
		enums := map[string][]string{"modes": {"none", "loopback", "egress", "host"}}
		if n, ok := properties["network"].(map[string]any)["properties"].(map[string]any); ok {
			items(n["modes"])["enum"] = enums["modes"]
		}
		if n, ok := properties["sandbox"].(map[string]any)["properties"].(map[string]any); ok {
			items(n["operations"])["enum"] = Operations()
		}
	}
	b, err := json.MarshalIndent(s, "", "  ")
	return append(b, '\n'), err
}

func items(of any) map[string]any {
	m, ok := of.(map[string]any)["items"].(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return m
}

func objectSchema(fields []field) map[string]any {
	properties := map[string]any{}
	for _, f := range fields {
		s := f.value.schema()
		s["description"] = f.doc
		properties[f.name] = s
	}
	return map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
}

// egressSchema names the keys of egress.Policy, which a test compares.
func egressSchema() map[string]any {
	text := map[string]any{"type": "string"}
	texts := list(text)
	quantity := map[string]any{"anyOf": []any{text, map[string]any{"type": "integer", "minimum": 0}}}
	count := map[string]any{"type": "integer", "minimum": 0}
	rule := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{
		"host": text, "cidr": text, "ports": list(portsSchema()), "mode": map[string]any{"enum": []string{"tcp", "tls", "http", "udp"}}, "methods": texts, "paths": texts,
	}}
	rules := list(map[string]any{"anyOf": []any{text, rule}})
	return map[string]any{"type": "object", "properties": map[string]any{
		"allow": rules, "allowed_hosts": texts, "allow_outbound": map[string]any{"type": "boolean"}, "deny": rules,
		"allowed_ports": list(portsSchema()), "blocked_hosts": texts, "blocked_ranges": texts, "redirect": map[string]any{"type": "boolean"},
		"max_connections": count, "connections_per_second": count, "names_per_second": count,
		"max_connection_bytes": quantity, "max_bytes": quantity, "bandwidth": quantity,
		"connect_timeout": text, "idle_timeout": text, "dns": texts,
	}}
}

func list(of map[string]any) map[string]any { return map[string]any{"type": "array", "items": of} }

func portsSchema() map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "integer", "minimum": 1, "maximum": 65535}, map[string]any{"type": "string"}}}
}

// keys are the sorted names of a set.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

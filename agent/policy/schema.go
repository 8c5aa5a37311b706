package policy

import (
	"encoding/json"
	"maps"
	"slices"

	"brig/internal/strictjson"
	egress "brig/netns/egress/policy"
	"brig/nsjail"

	_ "embed" // the schema
)

// SchemaFile is the JSON Schema of a policy, for editors and validators. A test compares the file with Schema.
//
//go:embed policy.schema.json
var SchemaFile []byte

// Schema generates the JSON Schema (draft 2020-12) of a policy from the parser's fields. The parser is stricter: it
// also checks the meaning of values.
func Schema() ([]byte, error) {
	s := strictjson.Schema((&Policy{}).fields(), specialSchema)
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "brig policy"
	s["description"] = "What an agent may do. Absent lists allow nothing, absent bounds bind nothing."
	part(s, "name")["pattern"] = namePattern
	part(s, "extends")["pattern"] = namePattern
	for key, names := range map[string][]string{"require": mechanismNames(), "optional": mechanismNames(),
		"features": featureNames()} {
		items(part(s, key))["enum"] = names
	}
	items(part(s, "network", "modes"))["enum"] = []string{"none", "loopback", "egress", "host"}
	items(part(s, "sandbox", "operations"))["enum"] = Operations()
	b, err := json.MarshalIndent(s, "", "  ")
	return append(b, '\n'), err
}

// part returns the schema of a nested key of s.
func part(s map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		s = s["properties"].(map[string]any)[key].(map[string]any)
	}
	return s
}

func items(of map[string]any) map[string]any { return of["items"].(map[string]any) }

// specialSchema returns the schema of a type that special parses.
func specialSchema(to any) map[string]any {
	switch to := to.(type) {
	case *nsjail.Bytes:
		return quantity(`^[0-9]+([kKmMgGtTpP]?([iI]?[bB])?)$`)
	case *nsjail.Duration:
		return quantity(`^[0-9.]+(ns|us|µs|ms|s|m|h)?([0-9.]+(ns|us|µs|ms|s|m|h))*$`)
	case *int64:
		return map[string]any{"type": "integer", "minimum": 1}
	case *float64:
		return map[string]any{"type": "number", "exclusiveMinimum": 0, "maximum": 1 << 16}
	case *Command:
		one := strictjson.Schema(to.fields(), specialSchema)
		one["required"] = []string{"command"}
		return map[string]any{"anyOf": []any{map[string]any{"type": "string"}, one}}
	case *egress.Ports:
		return portsSchema()
	case **egress.Policy:
		return egressSchema()
	}
	return nil
}

func quantity(pattern string) map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "string", "pattern": pattern},
		map[string]any{"type": "number", "exclusiveMinimum": 0}}}
}

// egressSchema returns the schema of egress.Policy. A test compares its keys with that type's.
func egressSchema() map[string]any {
	text := map[string]any{"type": "string"}
	texts := list(text)
	quantity := map[string]any{"anyOf": []any{text, map[string]any{"type": "integer", "minimum": 0}}}
	count := map[string]any{"type": "integer", "minimum": 0}
	rule := map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{
		"host": text, "cidr": text, "ports": list(portsSchema()),
		"mode": map[string]any{"enum": []string{"tcp", "tls", "http", "udp"}}, "methods": texts, "paths": texts,
	}}
	rules := list(map[string]any{"anyOf": []any{text, rule}})
	return map[string]any{"type": "object", "properties": map[string]any{
		"allow": rules, "allowed_hosts": texts, "allow_outbound": map[string]any{"type": "boolean"}, "deny": rules,
		"allowed_ports": list(portsSchema()), "blocked_hosts": texts, "blocked_ranges": texts,
		"redirect":        map[string]any{"type": "boolean"},
		"max_connections": count, "connections_per_second": count, "names_per_second": count,
		"max_connection_bytes": quantity, "max_bytes": quantity, "bandwidth": quantity,
		"connect_timeout": text, "idle_timeout": text, "dns": texts,
	}}
}

func list(of map[string]any) map[string]any { return map[string]any{"type": "array", "items": of} }

func portsSchema() map[string]any {
	return map[string]any{"anyOf": []any{map[string]any{"type": "integer", "minimum": 1, "maximum": 65535},
		map[string]any{"type": "string"}}}
}

// keys returns the sorted keys of a map.
func keys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

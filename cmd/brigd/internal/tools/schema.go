package tools

import (
	_ "embed"
	"encoding/json"
)

//go:embed schema.json
var fileSchema []byte

// FileSchema returns the JSON Schema of a tools file, for editors.
func FileSchema() []byte { return fileSchema }

// InputSchema returns the JSON Schema of the tool's arguments.
func (t *Tool) InputSchema() json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for i := range t.Params {
		p := &t.Params[i]
		properties[p.Name] = p.schema()
		if p.Required {
			required = append(required, p.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic("tools: " + err.Error()) // impossible: all of it is texts and numbers
	}
	return data
}

func (p *Param) schema() map[string]any {
	s := map[string]any{"type": p.Type}
	set := func(key string, value any, is bool) {
		if is {
			s[key] = value
		}
	}
	set("description", p.Description, p.Description != "")
	if p.def != nil {
		s["default"] = p.json(*p.def)
	}
	if len(p.rule.enum) > 0 {
		var list []any
		for _, e := range p.rule.enum {
			list = append(list, p.json(e))
		}
		s["enum"] = list
	}
	if p.rule.pattern != nil {
		s["pattern"] = p.rule.pattern.String()
	}
	set("minimum", p.rule.min, p.rule.min != nil)
	set("maximum", p.rule.max, p.rule.max != nil)
	least, most := "minLength", "maxLength"
	if p.Type == "array" {
		least, most = "minItems", "maxItems"
		s["items"] = map[string]any{"type": p.Items}
		set(most, maxItems, true)
	}
	set(least, p.rule.minLength, p.rule.minLength != nil)
	set(most, p.rule.maxSize, p.rule.maxSize != nil)
	return s
}

// json returns the JSON form of a value. For other types than string, the text is already JSON.
func (p *Param) json(v value) any {
	if p.Type == "string" {
		return v.text
	}
	return json.RawMessage(v.text)
}

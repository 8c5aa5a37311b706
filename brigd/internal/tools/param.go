package tools

import (
	"cmp"
	"encoding/json"
	"math"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"brig/brigd/internal/schema"
)

var types = []string{"string", "integer", "number", "boolean", "array", "object"}

// maxItems is the default maximum length of an array.
const maxItems = 1000

func (t *Tool) addParam(r *reader, n *yaml.Node, path string) {
	p := Param{Schema: &schema.Schema{Type: "string"}}
	var def, enum *yaml.Node
	ok := r.mapping(n, path, fields{
		"name": func(n *yaml.Node, at string) {
			if p.Name = r.text(n, at); !paramName.MatchString(p.Name) {
				r.problem(n, at, "%q is no name of a parameter: write a letter, then up to 63 letters, digits, '_' and '-'",
					short(p.Name))
			} else if t.param(p.Name) != nil {
				r.problem(n, at, "there is a parameter %q already: rename one", p.Name)
			}
		},
		"description": func(n *yaml.Node, at string) { p.Description = r.text(n, at) },
		"type":        func(n *yaml.Node, at string) { p.Type = r.oneOf(n, at, types) },
		"items":       func(n *yaml.Node, at string) { p.Items = &schema.Schema{Type: r.oneOf(n, at, types[:4])} },
		"required":    func(n *yaml.Node, at string) { p.Required = r.boolean(n, at) },
		"allow_dash":  func(n *yaml.Node, at string) { p.AllowDash = r.boolean(n, at) },
		"default":     func(n *yaml.Node, _ string) { def = n },
		"enum":        func(n *yaml.Node, _ string) { enum = n },
		"pattern": func(n *yaml.Node, at string) {
			re, err := regexp.Compile(r.text(n, at))
			if err != nil {
				r.problem(n, at, "%v: write a regular expression (RE2)", err)
			}
			p.pattern, p.Pattern = re, n.Value
		},
		"min": r.bound(&p.Minimum), "max": r.bound(&p.Maximum),
		"min_length": r.length(&p.MinLength), "max_length": r.length(&p.MaxLength),
	})
	if !ok {
		return
	}
	if p.Name == "" {
		r.problem(n, path+".name", "it is missing: name the parameter")
	}
	p.consistent(r, n, path)
	if enum != nil {
		var values []value
		r.list(enum, path+".enum", maxList, func(n *yaml.Node, at string) {
			if v, json := p.constant(r, n, at); v != nil {
				values, p.Enum = append(values, *v), append(p.Enum, json)
			}
		})
		p.enum = values // now, since each value has to obey the other rules only
	}
	if def != nil {
		p.def, _ = p.constant(r, def, path+".default")
		if p.def != nil {
			p.Default = p.json(*p.def)
		}
		if p.Required {
			r.problem(def, path+".default", "the parameter is required: remove the default, or required")
		}
	}
	t.Params = append(t.Params, p)
}

// length reads a number of characters or elements.
func (r *reader) length(to **int) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		var v int
		if n.Tag != "!!int" || n.Decode(&v) != nil || v < 0 {
			r.problem(n, path, "it is %s: write a whole number", kindOf(n))
			return
		}
		*to = &v
	}
}

// bound reads the minimum or maximum of a number.
func (r *reader) bound(to **float64) func(*yaml.Node, string) {
	return func(n *yaml.Node, path string) {
		var v float64
		if n.Tag != "!!int" && n.Tag != "!!float" || n.Decode(&v) != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			r.problem(n, path, "it is %s: write a number", kindOf(n))
			return
		}
		*to = &v
	}
}

// consistent refuses rules that have no meaning for the type. The lengths of an array are numbers of its elements.
func (p *Param) consistent(r *reader, n *yaml.Node, path string) {
	number, sized := p.Type == "integer" || p.Type == "number", p.Type == "string" || p.Type == "array"
	if p.Items == nil && p.Type == "array" {
		p.Items = &schema.Schema{Type: "string"}
	}
	for _, wrong := range []struct {
		it   bool
		name string
		want string
	}{
		{p.Items != nil && p.Type != "array", "items", "an array"},
		{(p.Minimum != nil || p.Maximum != nil) && !number, "min and max",
			"a number; for texts and arrays there are min_length and max_length"},
		{(p.MinLength != nil || p.MaxLength != nil) && !sized, "min_length and max_length", "a string or an array"},
		{p.pattern != nil && p.Type != "string", "pattern", "a string"},
	} {
		if wrong.it {
			r.problem(n, path, "%s: only for %s", wrong.name, wrong.want)
		}
	}
	if p.Type == "array" {
		most := maxItems
		p.MinItems, p.MaxItems = p.MinLength, cmp.Or(p.MaxLength, &most)
		p.MinLength, p.MaxLength = nil, nil
	}
}

func (r *reader) oneOf(n *yaml.Node, path string, list []string) string {
	text := r.text(n, path)
	if !slices.Contains(list, text) {
		r.problem(n, path, "%q is not among %q", short(text), list)
	}
	return text
}

// constant reads a value of the parameter's type from the file, also as it is in JSON.
func (p *Param) constant(r *reader, n *yaml.Node, path string) (*value, any) {
	var v any
	if err := n.Decode(&v); err != nil {
		r.problem(n, path, "it cannot be read: %v", err)
		return nil, nil
	}
	if p.Type == "string" && n.Kind == yaml.ScalarNode {
		v = n.Value // keeps 1.10 as text; as a number it would become 1.1
	}
	text, err := json.Marshal(v)
	if err != nil {
		r.problem(n, path, "it has no JSON form: write a value of type %s", p.Type)
		return nil, nil
	}
	out, wrong := p.read(text)
	if wrong != "" {
		r.problem(n, path, "%s", wrong)
		return nil, nil
	}
	return &out, v
}

// json returns the JSON form of a value. For other types than string, the text is already JSON.
func (p *Param) json(v value) json.RawMessage {
	text := []byte(v.text)
	if p.Type == "string" {
		text, _ = json.Marshal(v.text) // a string always has a JSON form
	}
	return text
}

// InputSchema returns the JSON Schema of the tool's arguments.
func (t *Tool) InputSchema() *schema.Schema {
	s := &schema.Schema{Type: "object", Properties: map[string]*schema.Schema{},
		AdditionalProperties: &schema.Schema{Not: &schema.Schema{}}}
	for _, p := range t.Params {
		s.Properties[p.Name] = p.Schema
		if p.Required {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

package tools

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

var types = []string{"string", "integer", "number", "boolean", "array", "object"}

// rule constrains a parameter's values, in addition to its type. Lengths are in characters, or in elements of an array.
type rule struct {
	enum               []value
	pattern            *regexp.Regexp
	min, max           *float64
	minLength, maxSize *int
}

// maxItems is the default maximum length of an array.
const maxItems = 1000

func (t *Tool) addParam(r *reader, n *yaml.Node, path string) {
	p := Param{Type: "string"}
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
		"items":       func(n *yaml.Node, at string) { p.Items = r.oneOf(n, at, types[:4]) },
		"required":    func(n *yaml.Node, at string) { p.Required = r.boolean(n, at) },
		"allow_dash":  func(n *yaml.Node, at string) { p.AllowDash = r.boolean(n, at) },
		"default":     func(n *yaml.Node, _ string) { def = n },
		"enum":        func(n *yaml.Node, _ string) { enum = n },
		"pattern": func(n *yaml.Node, at string) {
			re, err := regexp.Compile(r.text(n, at))
			if err != nil {
				r.problem(n, at, "%v: write a regular expression (RE2)", err)
			}
			p.rule.pattern = re
		},
		"min": r.bound(&p.rule.min), "max": r.bound(&p.rule.max),
		"min_length": r.length(&p.rule.minLength), "max_length": r.length(&p.rule.maxSize),
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
			if v := p.constant(r, n, at); v != nil {
				values = append(values, *v)
			}
		})
		p.rule.enum = values // now, since each value has to obey the other rules only
	}
	if def != nil {
		if p.def = p.constant(r, def, path+".default"); p.Required {
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

// consistent refuses rules that have no meaning for the type.
func (p *Param) consistent(r *reader, n *yaml.Node, path string) {
	number, sized := p.Type == "integer" || p.Type == "number", p.Type == "string" || p.Type == "array"
	if p.Items == "" && p.Type == "array" {
		p.Items = "string"
	}
	for _, wrong := range []struct {
		it   bool
		name string
		want string
	}{
		{p.Items != "" && p.Type != "array", "items", "an array"},
		{(p.rule.min != nil || p.rule.max != nil) && !number, "min and max",
			"a number; for texts and arrays there are min_length and max_length"},
		{(p.rule.minLength != nil || p.rule.maxSize != nil) && !sized, "min_length and max_length", "a string or an array"},
		{p.rule.pattern != nil && p.Type != "string", "pattern", "a string"},
	} {
		if wrong.it {
			r.problem(n, path, "%s: only for %s", wrong.name, wrong.want)
		}
	}
}

func (r *reader) oneOf(n *yaml.Node, path string, list []string) string {
	text := r.text(n, path)
	if !slices.Contains(list, text) {
		r.problem(n, path, "%q is not among %q", short(text), list)
	}
	return text
}

// constant reads a value of the parameter's type from the file.
func (p *Param) constant(r *reader, n *yaml.Node, path string) *value {
	var v any
	if err := n.Decode(&v); err != nil {
		r.problem(n, path, "it cannot be read: %v", err)
		return nil
	}
	if p.Type == "string" && n.Kind == yaml.ScalarNode {
		v = n.Value // keeps 1.10 as text; as a number it would become 1.1
	}
	text, err := json.Marshal(v)
	if err != nil {
		r.problem(n, path, "it has no JSON form: write a value of type %s", p.Type)
		return nil
	}
	out, wrong := p.read(text)
	if wrong != "" {
		r.problem(n, path, "%s", wrong)
		return nil
	}
	return &out
}

func length(s string) int { return utf8.RuneCountInString(s) }

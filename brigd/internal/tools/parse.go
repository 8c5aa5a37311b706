package tools

import (
	"maps"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"brig/brigd/engine"
)

var (
	toolName  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	paramName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
	envName   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)
)

// fields maps the allowed keys of a mapping to their readers.
type fields = map[string]func(n *yaml.Node, path string)

// Parse reads a tools file; name begins its error texts. The error lists up to 20 mistakes with their lines.
func Parse(name string, data []byte) (*Set, error) {
	doc, err := document(name, data)
	if err != nil {
		return nil, err
	}
	r := &reader{name: name}
	set, defaults, fresh := &Set{}, engine.Request{}, false
	var list *yaml.Node
	r.mapping(doc, "", fields{
		"name":        func(n *yaml.Node, p string) { set.Name = r.text(n, p) },
		"description": func(n *yaml.Node, p string) { r.text(n, p) },
		"version":     func(n *yaml.Node, p string) { r.text(n, p) },
		"sandbox":     func(n *yaml.Node, p string) { r.box(n, p, &defaults, &fresh) },
		"tools":       func(n *yaml.Node, p string) { list = n },
	})
	if list == nil {
		r.problem(doc, "tools", "there is no list of tools: write one")
		return nil, r.err()
	}
	lines := map[string]int{}
	r.list(list, "tools", maxTools, func(n *yaml.Node, path string) {
		t := r.tool(n, path, Tool{Run: defaults, Fresh: fresh})
		if before := lines[t.Name]; before > 0 {
			r.problem(n, path+".name", "there is a tool %q in line %d already: rename one", t.Name, before)
		}
		if t.Name != "" {
			lines[t.Name] = n.Line
		}
		set.Tools = append(set.Tools, t)
	})
	if err := r.err(); err != nil {
		return nil, err
	}
	return set, nil
}

// later holds the parts of a tool that name parameters. They are read last, since the parameters may follow them in the
// file.
type later struct {
	script, args, stdin, env, files *yaml.Node
}

// fields returns the fields of the parts, which stand beside code or under script.
func (l *later) fields() fields {
	return fields{
		"args":  func(n *yaml.Node, _ string) { l.args = n },
		"stdin": func(n *yaml.Node, _ string) { l.stdin = n },
		"env":   func(n *yaml.Node, _ string) { l.env = n },
		"files": func(n *yaml.Node, _ string) { l.files = n },
	}
}

// tool reads a tool; t has the settings of the whole file.
func (r *reader) tool(n *yaml.Node, path string, t Tool) *Tool {
	var l later
	keys := l.fields()
	maps.Copy(keys, fields{
		"name": func(n *yaml.Node, p string) {
			if t.Name = r.text(n, p); !toolName.MatchString(t.Name) {
				r.problem(n, p, "%q is no name of a tool: write 1 to 64 letters, digits, '_' and '-'", short(t.Name))
			}
		},
		"title":       func(n *yaml.Node, p string) { t.Title = r.text(n, p) },
		"description": func(n *yaml.Node, p string) { t.Description = r.text(n, p) },
		"read_only":   func(n *yaml.Node, p string) { t.ReadOnly = r.boolean(n, p) },
		"parameters": func(n *yaml.Node, p string) {
			r.list(n, p, maxParams, func(n *yaml.Node, p string) { t.addParam(r, n, p) })
		},
		"sandbox":  func(n *yaml.Node, p string) { r.box(n, p, &t.Run, &t.Fresh) },
		"script":   func(n *yaml.Node, p string) { l.script = n },
		"language": func(n *yaml.Node, p string) { t.Run.Language = r.text(n, p) },
		"code":     func(n *yaml.Node, p string) { t.Run.Code = r.text(n, p) },
	})
	if !r.mapping(n, path, keys) {
		return &t
	}
	if t.Name == "" {
		r.problem(n, path+".name", "it is missing: name the tool")
	}
	if t.Description == "" {
		r.problem(n, path+".description", "it is missing: a model chooses tools by it")
	}
	t.body(r, n, path, l)
	return &t
}

// body reads the action of the tool: a script, or code in a language.
func (t *Tool) body(r *reader, n *yaml.Node, path string, l later) {
	switch {
	case l.script != nil && (t.Run.Language != "" || t.Run.Code != ""):
		r.problem(n, path, "there are both script and language or code: write one of them")
	case l.script != nil:
		if l.args != nil || l.stdin != nil || l.env != nil || l.files != nil {
			r.problem(n, path, "args, stdin, env and files stand beside code: for a script write them under script")
			return
		}
		t.script(r, l.script, path+".script")
	case t.Run.Language == "" || t.Run.Code == "":
		r.problem(n, path, "it does nothing: write script with command and args, or language and code")
	default:
		for _, name := range placeholders(t.Run.Code) {
			if t.param(name) != nil {
				r.problem(n, path+".code", "{{%s}} would put a value into a program's text: pass it in args, env or stdin, and "+
					"read it there", name)
			}
		}
		t.parts(r, path, l)
	}
}

func (t *Tool) script(r *reader, n *yaml.Node, path string) {
	var l later
	var command string
	keys := l.fields()
	maps.Copy(keys, fields{
		"command": func(n *yaml.Node, p string) {
			if command = r.text(n, p); len(placeholders(command)) > 0 || command == "" {
				r.problem(n, p, "which program runs cannot be a parameter: write its name, and parameters in args")
			}
		},
		"cwd": func(n *yaml.Node, p string) {
			if t.Run.Cwd = r.text(n, p); t.Run.Cwd == "" || t.Run.Cwd[0] != '/' {
				r.problem(n, p, "%q is no absolute path: write one, such as /work", short(t.Run.Cwd))
			}
		},
	})
	if !r.mapping(n, path, keys) {
		return
	}
	if command == "" {
		r.problem(n, path+".command", "it is missing: name the program")
		return
	}
	t.command = []element{{template: template{{literal: command}}}}
	t.parts(r, path, l)
}

// parts reads all parts with templates.
func (t *Tool) parts(r *reader, path string, l later) {
	if l.args != nil {
		r.list(l.args, path+".args", maxList, func(n *yaml.Node, p string) {
			t.command = append(t.command, t.element(r, n, p))
		})
		t.checkArgs(r, l.args, path+".args")
	}
	if l.stdin != nil {
		t.stdin = t.template(r, l.stdin, path+".stdin")
	}
	if l.env != nil {
		t.env = t.named(r, l.env, path+".env", envName.MatchString, "a name of a variable")
	}
	if l.files != nil {
		t.files = t.named(r, l.files, path+".files", relative, "a relative path without '..'")
	}
}

// named reads a mapping of names to templates, in the order of the file.
func (t *Tool) named(r *reader, n *yaml.Node, path string, valid func(string) bool,
	what string) (list []namedTemplate) {
	table := fields{}
	if n.Kind == yaml.MappingNode {
		if len(n.Content) > 2*maxList {
			r.problem(n, path, "it has %d entries: write at most %d", len(n.Content)/2, maxList)
			return nil
		}
		for i := 0; i < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if !valid(key) {
				r.problem(n.Content[i], path, "%q is not %s: rename it", short(key), what)
			}
			table[key] = func(n *yaml.Node, p string) {
				list = append(list, namedTemplate{key, t.template(r, n, p)})
			}
		}
	}
	r.mapping(n, path, table)
	return list
}

func (t *Tool) param(name string) *Param {
	i := slices.IndexFunc(t.Params, func(p Param) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Params[i]
}

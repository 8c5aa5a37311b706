package tools

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// piece is a part of a template: a literal, or a parameter's value.
type piece struct {
	literal string
	param   string // "" for a literal
	splice  bool   // an array whose elements become one element of argv each
}

// template is a text with parameters: "{{name}}", or "{{name...}}" for the elements of an array. "{{{{" is two literal
// braces. It is parsed once, when the file is read: braces in values have no meaning.
type template []piece

// namedTemplate is a variable of the environment or a file with its content.
type namedTemplate struct {
	name  string
	value template
}

// element is an element of script.args: a template, or a list that is used only if a parameter has a value.
type element struct {
	template template
	when     string // a parameter's name; "" means always
	list     []element
	// operand means that the command does not parse the element as an option, even if it begins with '-'.
	operand bool
}

var placeholder = regexp.MustCompile(`^\{\{ ?([A-Za-z_][A-Za-z0-9_-]{0,63})(\.\.\.)? ?\}\}`)

// placeholders returns the well-formed names in double braces in a text.
func placeholders(text string) (names []string) {
	for {
		_, rest, ok := strings.Cut(text, "{{")
		if !ok {
			return names
		}
		if m := placeholder.FindStringSubmatch("{{" + rest); m != nil {
			names = append(names, m[1])
		}
		text = rest
	}
}

// template reads a template and checks that its parameters exist.
func (t *Tool) template(r *reader, n *yaml.Node, path string) (list template) {
	text := r.text(n, path)
	literal := func(s string) {
		if k := len(list); k > 0 && list[k-1].param == "" {
			list[k-1].literal += s
		} else if s != "" {
			list = append(list, piece{literal: s})
		}
	}
	for {
		before, rest, ok := strings.Cut(text, "{{")
		if literal(before); !ok {
			return list
		}
		if strings.HasPrefix(rest, "{{") {
			literal("{{")
			text = rest[2:]
			continue
		}
		m := placeholder.FindStringSubmatch("{{" + rest)
		if m == nil {
			r.problem(n, path, "{{%s is no parameter: write {{name}}, or {{{{ for two braces", short(rest))
			return list
		}
		p := t.param(m[1])
		switch {
		case p == nil:
			r.problem(n, path, "{{%s}} is not among the tool's parameters: declare it", m[1])
		case m[2] != "" && p.Type != "array":
			r.problem(n, path, "{{%s...}} needs an array, and %s is %s: write {{%s}}", m[1], m[1], p.Type, m[1])
		}
		list = append(list, piece{param: m[1], splice: m[2] != ""})
		text = rest[len(m[0])-2:]
	}
}

// sole returns the parameter if the template consists of one parameter only, and nil otherwise.
func (l template) sole() *piece {
	if len(l) != 1 || l[0].param == "" {
		return nil
	}
	return &l[0]
}

// element reads one element of argv.
func (t *Tool) element(r *reader, n *yaml.Node, path string) element {
	if n.Kind == yaml.MappingNode {
		e := element{}
		r.mapping(n, path, fields{
			"when": func(n *yaml.Node, p string) {
				if e.when = r.text(n, p); t.param(e.when) == nil {
					r.problem(n, p, "%q is not among the tool's parameters: declare it", short(e.when))
				}
			},
			"args": func(n *yaml.Node, p string) {
				r.list(n, p, maxList, func(n *yaml.Node, p string) {
					if n.Kind == yaml.MappingNode {
						r.problem(n, p, "a list under when holds texts only: write the element after it")
						return
					}
					e.list = append(e.list, t.element(r, n, p))
				})
			},
		})
		if e.when == "" || len(e.list) == 0 {
			r.problem(n, path, "it needs when, the name of a parameter, and args")
		}
		return e
	}
	e := element{template: t.template(r, n, path)}
	for i, p := range e.template {
		param := t.param(p.param)
		switch {
		case p.param == "" || param == nil:
		case p.splice && len(e.template) > 1:
			r.problem(n, path, "{{%s...}} becomes several arguments: let it stand alone", p.param)
		case param.Type == "array" && !p.splice:
			r.problem(n, path, "%s is an array: write {{%s...}}, which becomes one argument for each of its elements",
				p.param, p.param)
		case i == 1 && strings.Trim(e.template[0].literal, "-") == "":
			r.problem(n, path, "the value of %s would choose the option: write the option's name out, as in --name={{%s}}",
				p.param, p.param)
		}
	}
	return e
}

// interpreters are commands that take program text after an option. ends means that all arguments after the text belong
// to the program.
var interpreters = []struct {
	name, option *regexp.Regexp
	ends         bool
}{
	{regexp.MustCompile(`^((ba|da|z|k|a|mk|pdk)?sh|fish|busybox|python[0-9.]*)$`),
		regexp.MustCompile(`^-[A-Za-z]*c$|^--command$`), true},
	{regexp.MustCompile(`^(perl|ruby|php|lua|node|nodejs|deno|bun|tclsh|Rscript)[0-9.]*$`),
		regexp.MustCompile(`^-[A-Za-z]*[eErp]$|^--(eval|print|run)$`), false},
}

// reading tracks how a command may parse the next argument, given that earlier ones can be absent.
type reading struct {
	which      int  // the interpreter, or -1
	mayBeText  bool // program text
	isText     bool
	over       bool // options have ended
	afterWord  string
	afterFixed bool // afterWord is a literal
}

// checkArgs refuses parameters inside program text, where a value would become code, and parameters whose absence would
// change the meaning of adjacent words. It marks the elements that the command never parses as options.
func (t *Tool) checkArgs(r *reader, args *yaml.Node, at string) {
	now := reading{which: -1}
	for i := range t.command {
		e := &t.command[i]
		if e.when == "" {
			t.checkElement(r, args, fmt.Sprintf("%s[%d]", at, i-1), e, "", &now)
			continue
		}
		inner := now
		for k := range e.list {
			t.checkElement(r, args, fmt.Sprintf("%s[%d].args[%d]", at, i-1, k), &e.list[k], e.when, &inner)
		}
		now.which, now.mayBeText, now.isText = max(now.which, inner.which), now.mayBeText || inner.mayBeText,
			now.isText && inner.isText
		now.afterFixed = false
	}
}

func (t *Tool) checkElement(r *reader, args *yaml.Node, at string, e *element, when string, now *reading) {
	word, fixed := e.template.constant()
	if !fixed {
		p, sole := t.leaves(e.template, when), e.template.sole()
		switch {
		case now.mayBeText && sole == nil:
			k := slices.IndexFunc(e.template, func(p piece) bool { return p.param != "" })
			r.problem(args, at, "it puts a parameter into a program's text, where its value is code: give it as an argument "+
				"of its own, "+
				"as in [\"-c\", \"wc -l <\\\"$1\\\"\", \"sh\", \"{{%s}}\"]", e.template[k].param)
		case p != "" && (now.mayBeText || now.afterFixed && len(now.afterWord) > 1 && now.afterWord[0] == '-' &&
			now.afterWord != "--"):
			r.problem(args, at, "without %s, %s would take the argument after it: make %s required, give it a default, or "+
				"write {when: %s, args: [%s, ...]}",
				p, short(now.afterWord), p, p, short(now.afterWord))
		}
	}
	e.operand = now.over || now.isText
	now.over = now.over || now.isText && interpreters[now.which].ends || fixed && word == "--"
	text := now.which >= 0 && !now.over && fixed && interpreters[now.which].option.MatchString(word)
	now.mayBeText, now.isText, now.afterWord, now.afterFixed = text, text, word, fixed
	for k := range interpreters {
		if now.which < 0 && fixed && interpreters[k].name.MatchString(path.Base(word)) {
			now.which = k
		}
	}
}

// leaves returns a parameter whose absence removes the template, or "" if there is none.
func (t *Tool) leaves(l template, when string) string {
	for _, piece := range l {
		p := t.param(piece.param)
		if piece.param == "" || p == nil {
			continue
		}
		empty := piece.splice && (p.MinItems == nil || *p.MinItems == 0)
		if empty || !p.Required && p.def == nil && p.Name != when {
			return p.Name
		}
	}
	return ""
}

// constant returns the text of a template without parameters.
func (l template) constant() (text string, ok bool) {
	if len(l) == 0 {
		return "", true
	}
	return l[0].literal, len(l) == 1 && l[0].param == ""
}

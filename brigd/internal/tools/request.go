package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"brig/brigd/engine"
	"brig/brigd/internal/schema"
	"brig/brigd/job"
	"brig/internal/words"
)

// The bounds of a call's run, in bytes: Linux accepts no longer element of argv (execve(2), MAX_ARG_STRLEN).
const (
	maxElement = 128<<10 - 1
	maxCommand = 1 << 20
	maxTexts   = 8 << 20 // stdin, environment and files together
)

// Request returns the run for a call of the tool, without running it. arguments is a JSON object.
func (t *Tool) Request(arguments []byte) (*engine.Request, *job.Refusal) {
	call, no := t.read(arguments)
	if no != nil {
		return nil, no
	}
	r := t.Run
	r.Network = slices.Clone(t.Run.Network)
	var argv []string
	for _, e := range t.command {
		if no := call.element(e, &argv); no != nil {
			return nil, no
		}
	}
	if r.Cmd = argv; r.Language != "" {
		r.Cmd, r.Args = nil, argv
	}
	if no := call.texts(&r); no != nil {
		return nil, no
	}
	return &r, nil
}

// texts fills in stdin, variables and files.
func (c *call) texts(r *engine.Request) (no *job.Refusal) {
	left := maxTexts
	if r.Stdin, no = c.bounded(c.tool.stdin, &left, true); no != nil {
		return no
	}
	if r.Env, no = c.named(c.tool.env, &left, false); no != nil {
		return no
	}
	files, no := c.named(c.tool.files, &left, true)
	for name, text := range files {
		if r.Files == nil {
			r.Files = map[string]engine.File{}
		}
		r.Files[name] = engine.File{Data: []byte(text)}
	}
	return no
}

// named expands the templates that name no parameter without a value.
func (c *call) named(list []namedTemplate, left *int, nul bool) (texts map[string]string, no *job.Refusal) {
	for _, e := range list {
		if c.missing(e.value) {
			continue
		}
		if texts == nil {
			texts = map[string]string{}
		}
		if texts[e.name], no = c.bounded(e.value, left, nul); no != nil {
			return nil, no
		}
	}
	return texts, nil
}

// bounded expands a template and subtracts its length from left, the remaining number of bytes.
func (c *call) bounded(l template, left *int, nul bool) (string, *job.Refusal) {
	s, param := c.text(l)
	if *left -= len(s); *left < 0 {
		return "", c.refuse(param, "its value is too long", "send at most 8 MiB together")
	}
	if !nul && strings.ContainsRune(s, 0) {
		return "", c.refuse(param, "it holds a NUL character, which no variable can", "remove it")
	}
	return s, nil
}

// call is one call of a tool, with the values of its parameters. Parameters without a value are absent.
type call struct {
	tool   *Tool
	values map[string]value
	argv   int // bytes so far
}

// read checks the arguments against the tool's parameters. A null counts as absent: models write it for what they leave
// out.
func (t *Tool) read(arguments []byte) (*call, *job.Refusal) {
	c := &call{tool: t, values: map[string]value{}}
	if len(bytes.TrimSpace(arguments)) == 0 {
		arguments = []byte("{}")
	}
	if err := schema.Scan(arguments); err != nil {
		if e, ok := errors.AsType[*schema.Error](err); ok {
			return nil, c.refuse("", e.Message, e.Fix)
		}
		return nil, c.refuse("", err.Error(), "send a JSON object")
	}
	var sent map[string]json.RawMessage
	if json.Unmarshal(arguments, &sent) != nil {
		return nil, c.refuse("", "the arguments are "+kindJSON(arguments), "send a JSON object")
	}
	for name := range sent {
		if t.param(name) == nil {
			return nil, c.refuse("", fmt.Sprintf("%q is not a parameter of this tool", short(name)), t.whichParams(name))
		}
	}
	for i := range t.Params {
		p := &t.Params[i]
		data, ok := sent[p.Name]
		if !ok || string(bytes.TrimSpace(data)) == "null" {
			if p.Required {
				return nil, c.refuse(p.Name, "it is required, and missing", "send it")
			}
			if p.def != nil {
				c.values[p.Name] = *p.def
			}
			continue
		}
		v, wrong := p.read(data)
		if wrong != "" {
			what, fix, ok := strings.Cut(wrong, ": ")
			if !ok {
				fix = "send a value that does"
			}
			return nil, c.refuse(p.Name, what, fix)
		}
		c.values[p.Name] = v
	}
	return c, nil
}

func (t *Tool) whichParams(name string) string {
	var known []string
	for _, p := range t.Params {
		known = append(known, p.Name)
	}
	if near := words.Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	if len(known) == 0 {
		return "send no arguments: it takes none"
	}
	return "it takes " + strings.Join(known, ", ")
}

// refuse refuses the call because of one parameter, or as a whole if param is "".
func (c *call) refuse(param, what, fix string) *job.Refusal {
	r := &job.Refusal{Code: "invalid_argument", Layer: "request", Rule: c.tool.Name, Message: what + "."}
	if param != "" {
		r.Message, r.Rule = param+": "+what+".", c.tool.Name+": "+param
	}
	r.NextSteps = []string{strings.ToUpper(fix[:1]) + fix[1:] + ", and call " + c.tool.Name + " again."}
	if strings.HasSuffix(fix, "?") {
		r.NextSteps = []string{strings.ToUpper(fix[:1]) + fix[1:] + " Call " + c.tool.Name + " again."}
	}
	return r
}

// missing reports whether a template names a parameter that has no value.
func (c *call) missing(l template) bool {
	return slices.ContainsFunc(l, func(p piece) bool {
		_, ok := c.values[p.param]
		return p.param != "" && !ok
	})
}

// text expands a template in one pass. param is the last parameter in it. A parameter without a value expands to
// nothing.
func (c *call) text(l template) (s, param string) {
	var out strings.Builder
	for _, p := range l {
		if out.WriteString(p.literal); p.param != "" {
			param = p.param
			out.WriteString(c.values[p.param].text)
		}
	}
	return out.String(), param
}

// element appends the expansion of one element of the file to argv. It appends nothing if a parameter of the element
// has no value.
func (c *call) element(e element, argv *[]string) *job.Refusal {
	if e.when != "" {
		if v, ok := c.values[e.when]; !ok || !v.truth {
			return nil
		}
		for _, inner := range e.list {
			if no := c.element(inner, argv); no != nil {
				return no
			}
		}
		return nil
	}
	if c.missing(e.template) {
		return nil
	}
	first := ""
	if len(e.template) > 0 {
		first = e.template[0].param
	}
	list := []string{""}
	if sole := e.template.sole(); sole != nil && sole.splice {
		list = c.values[sole.param].list
	} else {
		list[0], _ = c.text(e.template)
	}
	for _, s := range list {
		if no := c.checkElement(s, first, e.operand); no != nil {
			return no
		}
		*argv = append(*argv, s)
	}
	return nil
}

// checkElement checks one expanded element of argv, which begins with the value of param, or with a literal if param is
// "".
func (c *call) checkElement(s, param string, operand bool) *job.Refusal {
	if c.argv += len(s) + 1; len(s) > maxElement || c.argv > maxCommand {
		return c.refuse(param, fmt.Sprintf("an argument of %d bytes is too long for a command", len(s)),
			"send less, or write it into a file with write_file first")
	}
	if strings.ContainsRune(s, 0) {
		return c.refuse(param, "it holds a NUL character, which no argument of a command can", "remove it")
	}
	if param == "" || operand || c.tool.Run.Language != "" || !strings.HasPrefix(s, "-") || c.tool.param(param).AllowDash {
		return nil
	}
	no := c.refuse(param, fmt.Sprintf("it begins with '-', so that the command would read %q as an option", short(s)),
		"write ./ before the name of a file, or another value")
	no.Code = "option_injection"
	return no
}

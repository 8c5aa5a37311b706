package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/internal/schema"
	"brig/brigd/job"
)

// tool is the definition of a tool, shared by all sessions.
type tool struct {
	def *sdk.Tool
	// call does it. The result's structured content is as def.OutputSchema describes.
	call func(ctx context.Context, c *call) *sdk.CallToolResult
	// mounts reports whether it has an argument for shares.
	mounts bool
	// refused is the structured content of a refusal.
	refused func(*job.Refusal) any
}

// call is one call of a tool.
type call struct {
	*session
	tool     *tool
	args     json.RawMessage
	progress *progress // nil if the client does not want to know
}

type noArgs struct{}

// define returns a tool with arguments of type In and structured content of type Out.
func define[In, Out any](name, title, description string, hints sdk.ToolAnnotations, refused func(*job.Refusal) any,
	do func(ctx context.Context, c *call, in *In) *sdk.CallToolResult) *tool {
	t := &tool{refused: refused}
	arguments := brief(schema.For[In]())
	t.def = &sdk.Tool{Name: name, Title: title, Description: description, Annotations: &hints, InputSchema: arguments,
		OutputSchema: schema.For[Out]()}
	t.call = func(ctx context.Context, c *call) *sdk.CallToolResult {
		in := new(In)
		if no := decode(c.args, in, name, arguments.Required); no != nil {
			return c.refuse(no)
		}
		return do(ctx, c, in)
	}
	return t
}

func yes() *bool { b := true; return &b }

func no() *bool { b := false; return &b }

// described returns a tool's description for the session's caller, with the names of the shares and images that the
// caller may use.
func (x *session) described(t *tool) *sdk.Tool {
	def := *t.def
	if !x.OutputSchemas {
		def.OutputSchema = nil
	}
	if !t.mounts {
		return &def
	}
	shares, images := x.Engine.Shares(x.who()), x.Engine.Images(x.who())
	if len(shares) > 0 {
		var names []string
		for _, s := range shares {
			names = append(names, s.Name+" ("+s.Mode+")")
		}
		def.Description += " The argument mounts can show these directories of the operator's, below /data, /mnt, /srv or " +
			"/code: " + strings.Join(names, ", ") + "."
	}
	if len(images) > 0 {
		var names []string
		for _, i := range images {
			names = append(names, i.Name+" ("+cmp.Or(strings.Join(i.Languages, ", "), "no language")+")")
		}
		def.Description += " The argument image can name one of these as the root: " + strings.Join(names, ", ") + "."
	}
	return &def
}

// brief leaves out of a schema what decode checks anyway: each model reads the list of tools at its start.
func brief(s *schema.Schema) *schema.Schema {
	if s == nil {
		return s
	}
	for _, p := range s.Properties {
		brief(p)
	}
	brief(s.Items)
	brief(s.AdditionalProperties)
	if s.Pattern, s.Examples, s.Minimum = "", nil, nil; len(s.AnyOf) > 0 { // an engine.File
		s.AnyOf, s.Types, s.Description = nil, []string{"string", "object"}, `a text, or {"base64": "..."}`
	}
	return s
}

// undescribed leaves out what another tool of the list has told.
func undescribed(s *schema.Schema) {
	if s == nil {
		return
	}
	s.Description = ""
	for _, p := range s.Properties {
		undescribed(p)
	}
	undescribed(s.Items)
	undescribed(s.AdditionalProperties)
}

// handler returns the SDK's handler for a tool of this session.
func (x *session) handler(t *tool) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (res *sdk.CallToolResult, _ error) {
		c := &call{session: x, tool: t, args: req.Params.Arguments}
		defer func() {
			if why := recover(); why != nil { // a panic in the SDK's goroutine would end the process and all sessions
				x.Logger.Error("an MCP tool has panicked", "tool", t.def.Name, "why", why, "stack", string(debug.Stack()))
				res = c.refuse(&job.Refusal{Message: "the server has made a mistake", Code: "internal", Layer: "request",
					NextSteps: []string{"Tell the operator of the server, whose log says more."}})
			}
		}()
		ctx, done, no := x.begin(ctx)
		if no != nil {
			return c.refuse(no), nil
		}
		defer done()
		if req.Extra != nil {
			var stop func()
			ctx, stop = x.follow(ctx, req.Extra.Header)
			defer stop()
		}
		if token := req.Params.GetProgressToken(); token != nil {
			c.progress = &progress{token: token, to: req.Session}
		}
		x.Logger.Debug("an MCP tool is called", "tool", t.def.Name, "bytes", len(c.args))
		return t.call(ctx, c), nil
	}
}

// decode parses arguments strictly. A null counts as absent: models write it for what they leave out.
func decode(data json.RawMessage, in any, name string, required []string) *job.Refusal {
	if len(data) == 0 {
		data = json.RawMessage("{}")
	}
	err := schema.Scan(data)
	var members map[string]json.RawMessage
	if err == nil && json.Unmarshal(data, &members) == nil {
		for key, value := range members {
			if string(value) == "null" {
				delete(members, key)
			}
		}
		if data, err = json.Marshal(members); err == nil {
			err = schema.Decode(data, in)
		}
		for _, key := range required {
			if _, ok := members[key]; err == nil && !ok {
				err = &schema.Error{Code: "missing_field", Path: key, Message: "it is missing",
					Fix: "send it, and call " + name + " again"}
			}
		}
	} else if err == nil {
		err = &schema.Error{Code: "wrong_type", Message: "the arguments are no object", Fix: "send a JSON object"}
	}
	if err == nil {
		return nil
	}
	if step := shellStep(name, members); step != "" {
		return refuse("request", "wrong_type", name+": cmd", "cmd is a list of words, and no shell reads it.", step)
	}
	no := &job.Refusal{Message: err.Error(), Code: "invalid_argument", Layer: "request", Rule: name,
		NextSteps: []string{"Correct the arguments and call " + name + " again."}}
	if e, ok := errors.AsType[*schema.Error](err); ok {
		no.Message, no.Code = strings.TrimPrefix(e.Path+": ", ": ")+e.Message+".", e.Code
		no.Rule = strings.TrimSuffix(name+": "+e.Path, ": ")
		no.NextSteps = []string{sentence(e.Fix)}
	}
	return no
}

// shellStep returns advice on how to pass a command line as a list of words, or "". Models send command lines under
// several names before they read the description of cmd.
func shellStep(name string, members map[string]json.RawMessage) string {
	if name != "run_command" {
		return ""
	}
	for _, key := range []string{"cmd", "command", "commandline", "command_line", "script", "shell"} {
		var line string
		if json.Unmarshal(members[key], &line) != nil || line == "" {
			continue
		}
		return schema.ShellStep(line)
	}
	return ""
}

// refuse returns the result of a refused call.
func (c *call) refuse(no *job.Refusal) *sdk.CallToolResult {
	return c.tool.refusal(c.tool.refused(no), no)
}

// bad returns the refusal of one argument.
func (c *call) bad(argument, message, next string) *sdk.CallToolResult {
	return c.refuse(&job.Refusal{Message: argument + ": " + message, Code: "invalid_argument", Layer: "request",
		Rule: c.tool.def.Name + ": " + argument, NextSteps: []string{next}})
}

// failed returns the result of a call that the engine refused.
func (c *call) failed(id string, err error) *sdk.CallToolResult {
	return c.refuse(c.living.ended(id, c.lost(id, asRefusal(err))))
}

func (t *tool) refusal(structured any, no *job.Refusal) *sdk.CallToolResult {
	var b strings.Builder
	fmt.Fprintf(&b, "Refused (%s, %s): %s\n", no.Layer, no.Code, t.sentence(no.Message))
	if no.Rule != "" {
		fmt.Fprintf(&b, "Rule: %s\n", no.Rule)
	}
	if len(no.NextSteps) > 0 {
		b.WriteString("Next steps:\n")
	}
	for _, step := range no.NextSteps {
		fmt.Fprintf(&b, "- %s\n", t.sentence(step))
	}
	return result(structured, true, b.String())
}

// sentence is sentence of a text that may begin with the name of an argument, which has no other spelling.
func (t *tool) sentence(s string) string {
	s = strings.TrimSpace(s)
	word := s[:strings.IndexFunc(s+" ", func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })]
	if in, ok := t.def.InputSchema.(*schema.Schema); ok && in.Properties[word] != nil ||
		strings.HasPrefix(s[len(word):], ":") || strings.HasPrefix(s[len(word):], "[") {
		return word + strings.TrimPrefix(sentence("X"+s[len(word):]), "X")
	}
	return sentence(s)
}

// sentence adds a capital letter and a full stop to a text.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	if strings.IndexByte(".?!", s[len(s)-1]) < 0 {
		s += "."
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// result returns a result with structured content and each text in a separate block, so that program output cannot pass
// for a message of the server.
func result(structured any, isError bool, texts ...string) *sdk.CallToolResult {
	r := &sdk.CallToolResult{IsError: isError, Content: []sdk.Content{}}
	for _, text := range texts {
		r.Content = append(r.Content, &sdk.TextContent{Text: text})
	}
	data, err := json.Marshal(structured)
	if err != nil { // impossible: it is plain data
		return &sdk.CallToolResult{IsError: true,
			Content: []sdk.Content{&sdk.TextContent{Text: "The result has no JSON form: " + err.Error() + "."}}}
	}
	r.StructuredContent = json.RawMessage(data)
	return r
}

package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/internal/schema"
	"brig/brigd/internal/tools"
	"brig/brigd/job"
)

type languagesOut struct {
	Languages []engine.Language `json:"languages"` // what run_code can run here
	Error     *job.Refusal      `json:"error,omitempty"`
}

// builtin returns the tools that every server has.
func builtin() []*tool {
	list := slices.Concat(runTools(), processTools(), fileTools(), snapshotTools())
	return append(list, define[noArgs, languagesOut]("list_languages", "List languages",
		"Lists the languages that run_code can run on this machine.",
		sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no()},
		func(no *job.Refusal) any { return &languagesOut{Languages: []engine.Language{}, Error: no} },
		func(_ context.Context, c *call, _ *noArgs) *sdk.CallToolResult {
			out := &languagesOut{Languages: append([]engine.Language{}, c.Engine.Languages()...)}
			var b strings.Builder
			fmt.Fprintf(&b, "%d languages:\n", len(out.Languages))
			for _, l := range out.Languages {
				fmt.Fprintf(&b, "%s (%s)\n", l.Name, l.Version)
			}
			return result(out, false, b.String())
		}))
}

// declare adds the tools of a tools file.
func (s *Server) declare(set *tools.Set, file string) error {
	for _, d := range set.Tools {
		if slices.ContainsFunc(s.tools, func(t *tool) bool { return t.def.Name == d.Name }) {
			return fmt.Errorf("%s: the tool %s has the name of one that every server has: rename it", file, d.Name)
		}
		t := &tool{refused: refusedRun}
		t.def = &sdk.Tool{Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.InputSchema(),
			OutputSchema: schema.For[engine.Response](),
			Annotations:  &sdk.ToolAnnotations{ReadOnlyHint: d.ReadOnly, OpenWorldHint: no()}}
		if len(d.Run.Network) > 0 {
			t.def.Annotations.OpenWorldHint = yes()
		}
		t.call = func(ctx context.Context, c *call) *sdk.CallToolResult {
			r, no := d.Request(c.args)
			if no != nil {
				return c.refuse(no)
			}
			return c.run(ctx, r, d.Fresh)
		}
		s.tools = append(s.tools, t)
	}
	return nil
}

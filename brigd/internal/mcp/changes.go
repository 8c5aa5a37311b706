package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/job"
)

type changesOut struct {
	Changes []engine.ChangeSet `json:"changes"` // what runs have changed in their copies of shares, the newest first
	Error   *job.Refusal       `json:"error,omitempty"`
}

type diffIn struct {
	ID    string   `json:"id"`              // a change set, as list_changes names it
	Paths []string `json:"paths,omitempty"` // only these files and directories
}

type diffOut struct {
	Diff  string       `json:"diff"`           // the changes, as git diff writes them
	More  bool         `json:"more,omitempty"` // the end is missing: name paths
	Error *job.Refusal `json:"error,omitempty"`
}

type applyOut struct {
	Applied *engine.Applied `json:"applied,omitempty"` // what was applied
	Error   *job.Refusal    `json:"error,omitempty"`
}

// changeTools returns the tools for change sets. Without apply there is none that changes a share.
func changeTools(apply bool) []*tool {
	list := []*tool{
		define[noArgs, changesOut]("list_changes", "List change sets",
			"Lists what runs have changed in their copies of shares (mode cow). The shares change when a set is applied.",
			sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no()},
			func(no *job.Refusal) any { return &changesOut{Changes: []engine.ChangeSet{}, Error: no} }, listChanges),
		define[diffIn, diffOut]("diff_changes", "Show a change set", "Shows a change set as git diff does.",
			sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no()},
			func(no *job.Refusal) any { return &diffOut{Error: no} }, diffChanges),
	}
	if !apply {
		return list
	}
	return append(list, define[diffIn, applyOut]("apply_changes", "Apply a change set",
		"Changes the share on the server's machine as a run has changed its copy: all of the set, or the paths that are "+
			"named. Nothing changes if a file of the share is not as the run has seen it.",
		sdk.ToolAnnotations{DestructiveHint: yes(), OpenWorldHint: no()},
		func(no *job.Refusal) any { return &applyOut{Error: no} }, applyChanges))
}

func listChanges(_ context.Context, c *call, _ *noArgs) *sdk.CallToolResult {
	list, err := c.Engine.Changes(c.who())
	if err != nil {
		return c.refuse(asRefusal(err))
	}
	return result(&changesOut{Changes: list}, false, changesText(list))
}

func diffChanges(ctx context.Context, c *call, in *diffIn) *sdk.CallToolResult {
	text, err := c.Engine.DiffChanges(ctx, c.who(), in.ID, in.Paths)
	if err != nil {
		return c.refuse(asRefusal(err))
	}
	out := &diffOut{Diff: strings.ToValidUTF8(string(text), "\uFFFD")}
	if out.More = len(out.Diff) > defaultRead; out.More {
		out.Diff = strings.ToValidUTF8(out.Diff[:defaultRead], "")
	}
	return result(out, false, out.Diff)
}

func applyChanges(ctx context.Context, c *call, in *diffIn) *sdk.CallToolResult {
	done, err := c.Engine.ApplyChanges(ctx, c.who(), in.ID, &engine.ApplyRequest{Paths: in.Paths})
	if err != nil {
		return c.refuse(asRefusal(err))
	}
	return result(&applyOut{Applied: done}, false, fmt.Sprintf("%d files of the share were changed.", done.Files))
}

// changesText describes change sets to a model, a line each.
func changesText(list []engine.ChangeSet) string {
	var b strings.Builder
	for _, s := range list {
		if s.Error != "" {
			fmt.Fprintf(&b, "The changes of the share %s are lost: %s.\n", s.Share, s.Error)
			continue
		}
		fmt.Fprintf(&b, "Change set %s: %d files of the share %s (+%d -%d lines, %d bytes), not applied.\n", s.ID, s.Files,
			s.Share, s.Added, s.Removed, s.Bytes)
	}
	return b.String()
}

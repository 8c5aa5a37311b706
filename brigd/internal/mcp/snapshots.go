package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/job"
)

type snapshotIn struct {
	Snapshot string `json:"snapshot"` // the id of a snapshot, such as take_snapshot and list_snapshots tell
}

type snapshotOut struct {
	Snapshot *engine.SnapshotInfo `json:"snapshot,omitempty"` // what was taken
	Restored string               `json:"restored,omitempty"` // whose files the session has now
	Deleted  string               `json:"deleted,omitempty"`  // the id that is gone
	Error    *job.Refusal         `json:"error,omitempty"`
}

type snapshotsOut struct {
	Snapshots []engine.SnapshotInfo `json:"snapshots"` // the oldest first
	Error     *job.Refusal          `json:"error,omitempty"`
}

func snapshotTools() []*tool {
	refused := func(no *job.Refusal) any { return &snapshotOut{Error: no} }
	return []*tool{
		define[noArgs, snapshotOut]("take_snapshot", "Take a snapshot",
			"Keeps the files of the session as they are now, to come back to by restore_snapshot. It stays until it is deleted.",
			sdk.ToolAnnotations{DestructiveHint: no(), OpenWorldHint: no()}, refused, takeSnapshot),
		define[noArgs, snapshotsOut]("list_snapshots", "List snapshots", "Lists the snapshots, of earlier sessions too.",
			sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no()},
			func(no *job.Refusal) any { return &snapshotsOut{Snapshots: []engine.SnapshotInfo{}, Error: no} }, listSnapshots),
		define[snapshotIn, snapshotOut]("restore_snapshot", "Restore a snapshot",
			"Replaces all files of the session by those of a snapshot, and ends what runs.",
			sdk.ToolAnnotations{DestructiveHint: yes(), IdempotentHint: true, OpenWorldHint: no()}, refused, restoreSnapshot),
		define[snapshotIn, snapshotOut]("delete_snapshot", "Delete a snapshot", "Deletes a snapshot.",
			sdk.ToolAnnotations{DestructiveHint: yes(), IdempotentHint: true, OpenWorldHint: no()}, refused, deleteSnapshot),
	}
}

func takeSnapshot(ctx context.Context, c *call, _ *noArgs) *sdk.CallToolResult {
	id, no := c.box(ctx)
	if no != nil {
		return c.refuse(no)
	}
	s, err := c.Engine.Snapshot(c.who(), id)
	if err != nil {
		return c.failed(id, err)
	}
	return result(&snapshotOut{Snapshot: s}, false,
		fmt.Sprintf("%s: %d files, %d bytes, %s.", s.ID, s.Files, s.Bytes, s.State))
}

func listSnapshots(_ context.Context, c *call, _ *noArgs) *sdk.CallToolResult {
	list, err := c.Engine.Snapshots(c.who())
	if err != nil {
		return c.refuse(asRefusal(err))
	}
	out := &snapshotsOut{Snapshots: append([]engine.SnapshotInfo{}, list...)}
	var b strings.Builder
	fmt.Fprintf(&b, "%d snapshots:\n", len(out.Snapshots))
	for _, s := range out.Snapshots {
		fmt.Fprintf(&b, "%s\t%s\t%d files\n", s.ID, s.Created.UTC().Format("2006-01-02 15:04:05"), s.Files)
	}
	return result(out, false, b.String())
}

func restoreSnapshot(ctx context.Context, c *call, in *snapshotIn) *sdk.CallToolResult {
	c.making.Lock()
	defer c.making.Unlock()
	info, err := c.Engine.CreateSandbox(ctx, c.who(), &engine.SandboxRequest{From: in.Snapshot})
	if err != nil {
		return c.refuse(asRefusal(err))
	}
	before := c.sandbox
	c.sandbox = info.ID
	if before != "" {
		if err := c.Engine.DeleteSandbox(c.who(), before); err != nil && asRefusal(err).Layer != "sandbox" {
			return c.refuse(asRefusal(err)) // in the layer sandbox it has expired
		}
	}
	return result(&snapshotOut{Restored: in.Snapshot}, false, "The session has the files of "+in.Snapshot+".")
}

func deleteSnapshot(_ context.Context, c *call, in *snapshotIn) *sdk.CallToolResult {
	if err := c.Engine.DeleteSnapshot(c.who(), in.Snapshot); err != nil {
		return c.refuse(asRefusal(err))
	}
	return result(&snapshotOut{Deleted: in.Snapshot}, false, in.Snapshot+" is deleted.")
}

package engine

import (
	"context"

	"brig/brigd/workspace"
)

// Grep is a search for lines, Found what it has found, and Line one of these.
type (
	Grep  = workspace.Grep
	Found = workspace.Found
	Line  = workspace.Line
)

// GlobFiles returns the files of a sandbox whose paths match a pattern: see workspace.Search.Glob.
func (s fileTools) GlobFiles(ctx context.Context, c Caller, id, pattern, path string, max int) (list []FileInfo,
	more bool, err error) {
	err = s.in(c, id, func(box *workspace.Sandbox) (err error) {
		list, more, err = box.Search.Glob(ctx, pattern, path, max)
		return err
	}, "list")
	return list, more, err
}

// GrepFiles returns the lines in files of a sandbox that match a pattern: see workspace.Search.Grep.
func (s fileTools) GrepFiles(ctx context.Context, c Caller, id string, g *Grep) (found *Found, err error) {
	err = s.in(c, id, func(box *workspace.Sandbox) (err error) {
		found, err = box.Search.Grep(ctx, g)
		return err
	}, "get", "list")
	return found, err
}

// Notice is something that has happened to a file of a sandbox that is watched.
type Notice = workspace.Notice

// WatchFiles calls tell with what happens to the files of a sandbox in a directory, until tell returns an error, ctx
// ends, or the sandbox does: see workspace.Watches.Watch.
func (s fileTools) WatchFiles(ctx context.Context, c Caller, id, path string, recursive bool,
	tell func([]Notice) error) error {
	return s.in(c, id, func(box *workspace.Sandbox) error {
		return box.Watches.Watch(ctx, path, recursive, tell)
	}, "list")
}

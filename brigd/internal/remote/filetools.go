package remote

import (
	"context"
	"encoding/json"
	"io/fs"
	"strconv"

	"brig/brigd/engine"
)

// fileTools are those of the workers.
type fileTools struct{ at *Engine }

// tool asks a worker for a tool of files, and returns its description of a file.
func (t fileTools) tool(c engine.Caller, id, method, name string, parts ...string) (*engine.FileInfo, error) {
	info := &engine.FileInfo{}
	return info, t.at.get(t.at.about(c, id, method, "/"+name, query(parts...)), nil, info)
}

func octal(mode fs.FileMode) string { return strconv.FormatUint(uint64(mode.Perm()), 8) }

// StatFile describes a file of a sandbox.
func (t fileTools) StatFile(c engine.Caller, id, path string) (*engine.FileInfo, error) {
	return t.tool(c, id, "GET", "stat", "path", path)
}

// MakeDir makes a directory of a sandbox.
func (t fileTools) MakeDir(c engine.Caller, id, path string, mode fs.FileMode) (*engine.FileInfo, error) {
	if mode == 0 {
		return t.tool(c, id, "POST", "mkdir", "path", path)
	}
	return t.tool(c, id, "POST", "mkdir", "path", path, "mode", octal(mode))
}

// MoveFile renames a file of a sandbox.
func (t fileTools) MoveFile(c engine.Caller, id, from, to string, overwrite bool) (*engine.FileInfo, error) {
	return t.tool(c, id, "POST", "move", "path", from, "to", to, "overwrite", strconv.FormatBool(overwrite))
}

// ChmodFile sets the permissions of a file of a sandbox.
func (t fileTools) ChmodFile(c engine.Caller, id, path string, mode fs.FileMode) (*engine.FileInfo, error) {
	return t.tool(c, id, "POST", "chmod", "path", path, "mode", octal(mode))
}

// EditFile replaces a text of a file of a sandbox.
func (t fileTools) EditFile(c engine.Caller, id, path string, edit *engine.Edit) (*engine.FileInfo, int, error) {
	var a struct {
		File     engine.FileInfo
		Replaced int
	}
	err := t.at.get(t.at.about(c, id, "POST", "/edit", query("path", path)), edit, &a)
	return &a.File, a.Replaced, err
}

// GlobFiles finds files of a sandbox.
func (t fileTools) GlobFiles(ctx context.Context, c engine.Caller, id, pattern, path string, max int) (
	[]engine.FileInfo, bool, error) {
	q := t.at.about(c, id, "GET", "/glob", query("pattern", pattern, "path", path, "max", strconv.Itoa(max)))
	q.ctx = ctx
	var a struct {
		Files []engine.FileInfo
		More  bool
	}
	err := t.at.get(q, nil, &a)
	return a.Files, a.More, err
}

// GrepFiles finds lines in files of a sandbox.
func (t fileTools) GrepFiles(ctx context.Context, c engine.Caller, id string, g *engine.Grep) (*engine.Found, error) {
	q := t.at.about(c, id, "GET", "/grep", query("pattern", g.Pattern, "path", g.Path, "glob", g.Glob, "max",
		strconv.Itoa(g.Max), "ignore_case", strconv.FormatBool(g.IgnoreCase)))
	q.ctx = ctx
	found := &engine.Found{}
	return found, t.at.get(q, nil, found)
}

// WatchFiles watches files of a sandbox, until its worker tells that the watch has ended.
func (t fileTools) WatchFiles(ctx context.Context, c engine.Caller, id, path string, recursive bool,
	tell func([]engine.Notice) error) error {
	q := t.at.about(c, id, "GET", "/watch", query("path", path, "recursive", strconv.FormatBool(recursive)))
	q.ctx, q.accept = ctx, eventsType
	w, err := t.at.do(q)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	for in := json.NewDecoder(w.Body); ; {
		var n engine.Notice
		if err := in.Decode(&n); err != nil {
			return t.at.lost(q, err)
		}
		if err := tell([]engine.Notice{n}); err != nil || n.Type == "end" {
			return err
		}
	}
}

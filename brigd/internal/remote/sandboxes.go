package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/live"
	"brig/brigd/workspace"
)

// CreateSandbox makes a sandbox at a worker that has room.
func (e *Engine) CreateSandbox(ctx context.Context, c engine.Caller, r *engine.SandboxRequest) (*engine.SandboxInfo,
	error) {
	worker, err := e.hub.Place(ctx)
	if err != nil {
		return nil, err
	}
	if r.Living { // its box is a run
		if no := e.count(c); no != nil {
			return nil, no
		}
	}
	info := &engine.SandboxInfo{}
	return info, e.get(&request{ctx: ctx, caller: c, worker: worker, method: "POST", path: "sandboxes"}, r, info)
}

// LiveSandbox makes the box of a sandbox.
func (e *Engine) LiveSandbox(ctx context.Context, c engine.Caller, id string, r *engine.BoxRequest) (
	*engine.SandboxInfo, error) {
	if no := e.count(c); no != nil { // its box is a run
		return nil, no
	}
	q := e.about(c, id, "POST", "/live")
	q.ctx = ctx
	info := &engine.SandboxInfo{}
	return info, e.get(q, r, info)
}

// Sandboxes lists the caller's sandboxes at all workers, the oldest first.
func (e *Engine) Sandboxes(c engine.Caller) ([]engine.SandboxInfo, error) {
	ctx := context.Background()
	workers, err := e.hub.Present(ctx)
	if err != nil {
		return nil, err
	}
	list := []engine.SandboxInfo{}
	for _, worker := range workers {
		var a struct{ Sandboxes []engine.SandboxInfo }
		err := e.get(&request{ctx: ctx, caller: c, worker: worker, sandbox: true, method: "GET", path: "sandboxes"}, nil, &a)
		if no := front.AsRefusal(err); err != nil && (no == nil || no.Code != "sandbox_gone") {
			return nil, err
		}
		list = append(list, a.Sandboxes...)
	}
	slices.SortFunc(list, func(a, b engine.SandboxInfo) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// Sandbox describes a sandbox.
func (e *Engine) Sandbox(c engine.Caller, id string) (*engine.SandboxInfo, error) {
	info := &engine.SandboxInfo{}
	return info, e.get(e.about(c, id, "GET"), nil, info)
}

// DeleteSandbox ends the runs in a sandbox, and deletes it.
func (e *Engine) DeleteSandbox(c engine.Caller, id string) error {
	return e.get(e.about(c, id, "DELETE"), nil, nil)
}

// Runs lists the runs in a sandbox.
func (e *Engine) Runs(c engine.Caller, id string) ([]live.Run, error) {
	var a struct{ Runs []live.Run }
	err := e.get(e.about(c, id, "GET", "/runs"), nil, &a)
	return a.Runs, err
}

// Snapshot keeps the files of a sandbox.
func (e *Engine) Snapshot(c engine.Caller, id string) (*engine.SnapshotInfo, error) {
	info := &engine.SnapshotInfo{}
	return info, e.get(e.about(c, id, "POST", "/snapshot"), nil, info)
}

// file returns the part of an address for a file.
func file(path string) (string, error) {
	path, err := workspace.Abs(path)
	return "/files" + (&url.URL{Path: path}).EscapedPath(), err
}

func query(parts ...string) string {
	q := url.Values{}
	for i := 0; i < len(parts); i += 2 {
		q.Set(parts[i], parts[i+1])
	}
	return "?" + q.Encode()
}

// PutFile writes a file of a sandbox.
func (e *Engine) PutFile(c engine.Caller, id, path string, r io.Reader, mode fs.FileMode) (*engine.FileInfo, error) {
	at, err := file(path)
	if err != nil {
		return nil, err
	}
	if mode != 0 {
		at += query("mode", strconv.FormatUint(uint64(mode.Perm()), 8))
	}
	info := &engine.FileInfo{}
	return info, e.put(e.about(c, id, "PUT", at), r, info)
}

// GetFile opens a file of a sandbox.
func (e *Engine) GetFile(c engine.Caller, id, path string) (io.ReadCloser, *engine.FileInfo, error) {
	at, err := file(path)
	if err != nil {
		return nil, nil, err
	}
	w, err := e.do(e.about(c, id, "GET", at))
	if err != nil {
		return nil, nil, err
	}
	info := &engine.FileInfo{}
	if err := json.Unmarshal([]byte(w.Header.Get(front.FileHeader)), info); err != nil {
		_ = w.Body.Close() // the answer is of no use
		return nil, nil, fmt.Errorf("what the worker says of a file: %w", err)
	}
	return w.Body, info, nil
}

// PutTree writes the files of a tar archive below a directory of a sandbox.
func (e *Engine) PutTree(c engine.Caller, id, path string, r io.Reader) (*engine.TreeStats, error) {
	stats := &engine.TreeStats{}
	return stats, e.put(e.about(c, id, "PUT", "/tree", query("path", path)), r, stats)
}

// GetTree writes the files below a directory of a sandbox as a tar archive. It does not count them.
func (e *Engine) GetTree(c engine.Caller, id, path string, to io.Writer, most int64) (*engine.TreeStats, error) {
	q := e.about(c, id, "GET", "/tree", query("path", path))
	w, err := e.do(q)
	if err != nil {
		return nil, err
	}
	defer w.Body.Close()
	if _, err = io.Copy(to, w.Body); err != nil {
		err = e.lost(q, err)
	}
	return &engine.TreeStats{}, err
}

// ListFiles lists a directory of a sandbox.
func (e *Engine) ListFiles(c engine.Caller, id, path string, recursive bool, after string) ([]engine.FileInfo, bool,
	error) {
	var a struct {
		Files []engine.FileInfo
		More  bool
	}
	q := query("path", path, "recursive", strconv.FormatBool(recursive), "after", after)
	err := e.get(e.about(c, id, "GET", "/files", q), nil, &a)
	return a.Files, a.More, err
}

// DeleteFile deletes a file or directory of a sandbox.
func (e *Engine) DeleteFile(c engine.Caller, id, path string) error {
	at, err := file(path)
	if err != nil {
		return err
	}
	return e.get(e.about(c, id, "DELETE", at), nil, nil)
}

// Allowed reports whether a payload in a sandbox may read or write a path.
func (e *Engine) Allowed(c engine.Caller, id, path string, write bool) (bool, error) {
	var a struct{ Allowed bool }
	err := e.get(e.about(c, id, "GET", "/allowed", query("path", path, "write", strconv.FormatBool(write))), nil, &a)
	return a.Allowed, err
}

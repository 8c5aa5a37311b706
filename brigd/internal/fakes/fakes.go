// Package fakes has the fake engine of the tests of api and mcp, and the options that they share.
package fakes

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"brig/brigd/engine"
	"brig/brigd/job"
)

// Engine is an engine without jails: files are in memory, and a run is what the test makes of it.
type Engine struct {
	Living // of a test that has some
	fileTools
	ports
	Do      func(ctx context.Context, r *engine.Request, stream func(engine.Event)) *engine.Response
	Deleted chan string // the ids of deleted sandboxes

	sync.Mutex // guards the rest
	Boxes      map[string]*Box
	Snaps      map[string]*Box
	Made       int             // sandboxes so far
	Last       *engine.Request // that Run was called with, and by whom
	Caller     engine.Caller
}

// Box is a sandbox, or a snapshot of one.
type Box struct {
	Info  engine.SandboxInfo
	Files map[string][]byte // by path
}

// New returns an Engine whose runs are those of do.
func New(do func(ctx context.Context, r *engine.Request, stream func(engine.Event)) *engine.Response) *Engine {
	e := &Engine{Do: do, Deleted: make(chan string, 1000), Boxes: map[string]*Box{}, Snaps: map[string]*Box{}}
	e.fileTools.of, e.ports.of = e, e
	return e
}

// epoch is when everything was made.
var epoch = time.Unix(1e9, 0).UTC()

// Refuse returns the refusal of something that is not there, or not possible.
func Refuse(code, what string) *job.Refusal {
	return &job.Refusal{Message: what, Code: code, Layer: "sandbox", NextSteps: []string{"list them"}}
}

// Run implements front.Engine.
func (e *Engine) Run(ctx context.Context, c engine.Caller, r *engine.Request,
	stream func(engine.Event)) *engine.Response {
	last := *r
	e.Lock()
	e.Last, e.Caller = &last, c
	do := e.Do
	_, no := e.box(c, r.Sandbox)
	e.Unlock()
	if r.Sandbox != "" && no != nil {
		return &engine.Response{ID: "run_0", Status: "refused", ExitCode: -1,
			Error: Refuse("sandbox_unknown", "the sandbox is gone")}
	}
	return do(ctx, r, stream)
}

// box returns a sandbox of the caller's. The caller holds the lock.
func (e *Engine) box(c engine.Caller, id string) (*Box, error) {
	if b := e.Boxes[id]; b != nil && b.Info.Agent == c.Name() {
		return b, nil
	}
	return nil, Refuse("not_found", "the sandbox is gone")
}

// inBox calls do for a sandbox of the caller's.
func (e *Engine) inBox(c engine.Caller, id string, do func(b *Box) error) error {
	e.Lock()
	defer e.Unlock()
	b, err := e.box(c, id)
	if err != nil {
		return err
	}
	return do(b)
}

// CreateSandbox implements front.Engine.
func (e *Engine) CreateSandbox(_ context.Context, c engine.Caller, r *engine.SandboxRequest) (*engine.SandboxInfo,
	error) {
	e.Lock()
	defer e.Unlock()
	from := e.Snaps[r.From]
	if r.From != "" && from == nil {
		return nil, Refuse("not_found", "there is no such snapshot")
	}
	e.Made++
	id := fmt.Sprint("box_", e.Made)
	b := &Box{engine.SandboxInfo{ID: id, Agent: c.Name(), Created: epoch, Expires: epoch.Add(time.Hour),
		Disk: int64(r.Disk)}, map[string][]byte{}}
	if from != nil {
		maps.Copy(b.Files, from.Files)
	}
	for name, file := range r.Files {
		b.Files["/input/"+name] = file.Data
	}
	e.Boxes[id] = b
	return &b.Info, nil
}

// Sandboxes implements front.Engine.
func (e *Engine) Sandboxes(c engine.Caller) (list []engine.SandboxInfo, err error) {
	e.Lock()
	defer e.Unlock()
	for _, b := range e.Boxes {
		if b.Info.Agent == c.Name() {
			list = append(list, b.Info)
		}
	}
	return list, nil
}

// Sandbox implements front.Engine.
func (e *Engine) Sandbox(c engine.Caller, id string) (info *engine.SandboxInfo, err error) {
	err = e.inBox(c, id, func(b *Box) error { info = &b.Info; return nil })
	return info, err
}

// DeleteSandbox implements front.Engine.
func (e *Engine) DeleteSandbox(c engine.Caller, id string) error {
	return e.inBox(c, id, func(*Box) error {
		delete(e.Boxes, id)
		e.Deleted <- id
		return nil
	})
}

// Snapshot implements front.Engine.
func (e *Engine) Snapshot(c engine.Caller, id string) (info *engine.SnapshotInfo, err error) {
	err = e.inBox(c, id, func(b *Box) error {
		info = &engine.SnapshotInfo{ID: fmt.Sprint("sn_", len(e.Snaps)+1), Agent: b.Info.Agent, Sandbox: id,
			Files: int64(len(b.Files)), State: "idle"}
		e.Snaps[info.ID] = &Box{b.Info, maps.Clone(b.Files)}
		return nil
	})
	return info, err
}

// Snapshots implements front.Engine.
func (e *Engine) Snapshots(c engine.Caller) (list []engine.SnapshotInfo, err error) {
	e.Lock()
	defer e.Unlock()
	for id, s := range e.Snaps {
		if s.Info.Agent == c.Name() {
			list = append(list, engine.SnapshotInfo{ID: id, Agent: s.Info.Agent, Sandbox: s.Info.ID, State: "idle"})
		}
	}
	return list, nil
}

// DeleteSnapshot implements front.Engine.
func (e *Engine) DeleteSnapshot(c engine.Caller, id string) error {
	e.Lock()
	defer e.Unlock()
	if s := e.Snaps[id]; s == nil || s.Info.Agent != c.Name() {
		return Refuse("not_found", "there is no such snapshot")
	}
	delete(e.Snaps, id)
	return nil
}

func entry(path string, data []byte) *engine.FileInfo {
	return &engine.FileInfo{Path: path, Type: "file", Size: int64(len(data)), Mode: "0644", ModTime: epoch}
}

// PutFile implements front.Engine. There is no space for /work/full.
func (e *Engine) PutFile(c engine.Caller, id, path string, r io.Reader, _ fs.FileMode) (*engine.FileInfo, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	return entry(path, data), e.inBox(c, id, func(b *Box) error {
		if path == "/work/full" {
			return Refuse("disk_full", "there is no such space")
		}
		b.Files[path] = data
		return nil
	})
}

// GetFile implements front.Engine. The sizes of /work/sparse and /work/shrinks are too large.
func (e *Engine) GetFile(c engine.Caller, id, path string) (f io.ReadCloser, info *engine.FileInfo, err error) {
	err = e.inBox(c, id, func(b *Box) error {
		data, ok := b.Files[path]
		if !ok {
			return Refuse("not_found", "there is no such file")
		}
		f, info = io.NopCloser(bytes.NewReader(data)), entry(path, data)
		switch path {
		case "/work/sparse":
			info.Size = 1 << 60
		case "/work/shrinks":
			info.Size += 10
		}
		return nil
	})
	return f, info, err
}

// ListFiles implements front.Engine.
func (e *Engine) ListFiles(c engine.Caller, id, path string, _ bool, _ string) (list []engine.FileInfo, more bool,
	err error) {
	path = strings.TrimSuffix(path, "/") + "/"
	err = e.inBox(c, id, func(b *Box) error {
		for _, name := range slices.Sorted(maps.Keys(b.Files)) {
			if strings.HasPrefix(name, path) {
				list = append(list, *entry(name, b.Files[name]))
			}
		}
		return nil
	})
	return list, false, err
}

// Allowed implements front.Engine.
func (e *Engine) Allowed(c engine.Caller, id, path string, write bool) (yes bool, err error) {
	yes = strings.HasPrefix(path, "/work/") || strings.HasPrefix(path, "/input/") && !write
	return yes, e.inBox(c, id, func(*Box) error { return nil })
}

// DeleteFile implements front.Engine.
func (e *Engine) DeleteFile(c engine.Caller, id, path string) error {
	return e.inBox(c, id, func(b *Box) error {
		if _, ok := b.Files[path]; !ok {
			return Refuse("not_found", "there is no such file")
		}
		delete(b.Files, path)
		return nil
	})
}

// PutTree implements front.Engine.
func (*Engine) PutTree(engine.Caller, string, string, io.Reader) (*engine.TreeStats, error) {
	return &engine.TreeStats{}, nil
}

// GetTree implements front.Engine. The archive is empty.
func (*Engine) GetTree(_ engine.Caller, _, _ string, w io.Writer, _ int64) (*engine.TreeStats, error) {
	_, err := w.Write(make([]byte, 1024))
	return &engine.TreeStats{}, err
}

// Languages implements front.Engine.
func (*Engine) Languages() []engine.Language {
	return []engine.Language{{Name: "python", Version: "3.11", Path: "/usr/bin/python3"}}
}

// Set is the only change set.
const Set = "0123456789abcdef"

func unknownSet(id string) error {
	if id == Set {
		return nil
	}
	return Refuse("changes_unknown", "no such set")
}

// Changes implements front.Engine.
func (*Engine) Changes(engine.Caller) ([]engine.ChangeSet, error) {
	return []engine.ChangeSet{{ID: Set, Share: "repo", Target: "/data", Files: 1}}, nil
}

// DiffChanges implements front.Engine.
func (*Engine) DiffChanges(_ context.Context, _ engine.Caller, id string, paths []string) ([]byte, error) {
	return fmt.Appendf(nil, "--- a/x\n+++ b/x %v\n", paths), unknownSet(id)
}

// ApplyChanges implements front.Engine.
func (*Engine) ApplyChanges(
	_ context.Context, _ engine.Caller, id string, _ *engine.ApplyRequest,
) (*engine.Applied, error) {
	return &engine.Applied{Files: 1, Removed: true}, unknownSet(id)
}

// DiscardChanges implements front.Engine.
func (*Engine) DiscardChanges(_ engine.Caller, id string) error { return unknownSet(id) }

// Images implements front.Engine.
func (*Engine) Images(engine.Caller) []engine.ImageInfo {
	return []engine.ImageInfo{{Name: "python:3.12-slim", Digest: "sha256:00", Languages: []string{"python"}}}
}

// Shares implements front.Engine.
func (*Engine) Shares(engine.Caller) []engine.ShareInfo {
	return []engine.ShareInfo{{Name: "data", Mode: "ro"}}
}

package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"

	"brig/brigd/audit"
	"brig/brigd/job"
	"brig/brigd/policy"
	"brig/brigd/workspace"
	"brig/nsjail"
)

// MaxPutSize is the maximum size in bytes of a file that is put into a sandbox. The sandbox's quota applies too.
const MaxPutSize = 1 << 30

// enter acquires a Job's sandbox. If the sandbox is deleted, ctx is cancelled; it does not expire during the run.
func (e *Engine) enter(ctx *context.Context, c Caller, j *job.Job) (
	box *workspace.Sandbox, release func(), no *job.Refusal) {
	if box, no = e.box(c, j.Sandbox); no != nil {
		return nil, nil, no
	}
	j.Agent = box.Agent
	run, release, err := box.Acquire(*ctx)
	if err == nil {
		*ctx = run
	}
	return box, release, asRefusal(err, "sandbox", "sandbox_unknown")
}

// putFiles writes a request's files below /input. run is the id of the run that the request starts.
func (e *Engine) putFiles(c Caller, box *workspace.Sandbox, run string, files map[string]File) *job.Refusal {
	if len(files) > 0 {
		if no := e.mayDo(c, "put"); no != nil {
			return no
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		below, no := fileName(name)
		if no != nil {
			return no
		}
		f := files[name]
		mode := fs.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		v := onFile(audit.FilePut, c, box, "/input/"+below)
		v.Run = run
		if _, err := e.put(box, v, v.Path, bytes.NewReader(f.Data), mode, int64(len(f.Data))); err != nil {
			return asRefusal(err, "sandbox", "file_refused")
		}
	}
	return nil
}

// mayDo checks that the token is still valid and that the policies allow an operation, see policy.Sandbox.
func (e *Engine) mayDo(c Caller, op string) *job.Refusal {
	if no := e.holds(c); no != nil {
		return no
	}
	return e.each(c, func(p *policy.Policy) *job.Refusal { return p.CheckOperation(op) })
}

// CreateSandbox creates a sandbox.
func (e *Engine) CreateSandbox(_ context.Context, c Caller, r *SandboxRequest) (*SandboxInfo, error) {
	agent, no := agentOf(c, r.Agent)
	if no != nil {
		return nil, no
	}
	if no := cmp.Or(negative(amount{"disk", r.Disk < 0, "64m"}, amount{"inodes", r.Inodes < 0, "1000"},
		amount{"ttl", r.TTL < 0, "1h"}), e.mayDo(c, "create"), e.checkInputs(c, "", r.Files)); no != nil {
		return nil, no
	}
	if no := e.checkMounts(c, r.Mounts, true); no != nil {
		return nil, no
	}
	var o workspace.CreateOptions
	ask := *r
	if no := e.fromSnapshot(Caller{Agent: agent, Grant: c.Grant}, &ask, &o); no != nil {
		return nil, no
	}
	for _, p := range e.policiesOf(c) {
		ask.Disk, ask.Inodes, ask.TTL = p.NarrowSandbox(ask.Disk, ask.Inodes, ask.TTL)
	}
	if no := c.Rules.bound(&e.opts.Sandboxes, &ask, &o); no != nil {
		return nil, no
	}
	o.Size, o.Inodes, o.TTL = int64(ask.Disk), ask.Inodes, time.Duration(ask.TTL)
	o.Chain, o.Account = c.Grant.IDs(), Caller{Agent: agent, Grant: c.Grant}.Key()
	o.Extra = slices.Clone(r.Mounts)
	if c.Grant != nil {
		o.Until = c.Grant.token.Expires()
	}
	box, err := e.boxes.Create(agent, o)
	switch {
	case full(err):
		return nil, machineFull()
	case err != nil:
		return nil, asRefusal(err, "sandbox", "sandbox_refused")
	}
	e.leaseSandbox(box)
	if no = e.record(about(audit.SandboxCreate, c, box)); no == nil {
		no = e.putFiles(c, box, "", r.Files)
	}
	if no != nil {
		_ = e.boxes.Delete(agent, box.ID) // the refusal has the reason
		return nil, no
	}
	return e.info(box), nil
}

// Sandboxes lists the caller's sandboxes.
func (e *Engine) Sandboxes(c Caller) ([]SandboxInfo, error) {
	list := []SandboxInfo{}
	for _, box := range e.boxes.List(c.agent()) {
		if c.Grant.Covers(box.Chain) {
			list = append(list, *e.info(box))
		}
	}
	return list, nil
}

// SandboxCount returns how many sandboxes exist, including those being created or removed.
func (e *Engine) SandboxCount() int {
	return e.boxes.Count()
}

// Sandbox describes one of the caller's sandboxes.
func (e *Engine) Sandbox(c Caller, id string) (*SandboxInfo, error) {
	box, no := e.box(c, id)
	if no != nil {
		return nil, no
	}
	return e.info(box), nil
}

// DeleteSandbox ends the runs in one of the caller's sandboxes, and deletes it.
func (e *Engine) DeleteSandbox(c Caller, id string) error {
	if no := e.mayDo(c, "delete"); no != nil {
		return no
	}
	box, no := e.box(c, id)
	if no == nil {
		no = e.record(about(audit.SandboxDelete, c, box))
	}
	if no != nil {
		return no
	}
	if err := e.boxes.Delete(box.Agent, id); err != nil {
		return asRefusal(err, "sandbox", "sandbox_unknown")
	}
	return nil
}

// box returns a sandbox that the caller may use; any other is reported as unknown. A sandbox belongs to an agent, and
// to the token with which it was created. The holder of that token, or of one from which it was derived, may use it.
// The holder of a narrower token may not: files written with it would be used with permissions that the token lacks. A
// caller that names no agent may act for any agent.
func (e *Engine) box(c Caller, id string) (*workspace.Sandbox, *job.Refusal) {
	box, err := e.boxes.Get(c.agent(), id)
	if err == nil && !c.Grant.Covers(box.Chain) {
		_, err = e.boxes.Get("-", id) // no agent has this name, so the error is that for an unknown id
	}
	if err != nil {
		return nil, asRefusal(err, "sandbox", "sandbox_unknown")
	}
	return box, nil
}

// agent returns the agent whose sandboxes the caller may use.
func (c Caller) agent() string {
	if c.Agent == "" {
		return workspace.Any
	}
	return c.Agent
}

func (e *Engine) info(box *workspace.Sandbox) *SandboxInfo {
	i := &SandboxInfo{ID: box.ID, Agent: box.Agent, Created: box.Created, Expires: box.Expires(), Disk: box.Size,
		Inodes: box.Inodes, Running: box.Running(), Mounts: mountsOf(box)}
	if bytes, inodes, err := box.Tree.Usage(); err == nil {
		i.Used, i.UsedIno = bytes, inodes
	}
	e.shelf.describe(box, i)
	if end := box.Until; !end.IsZero() && end.Before(i.Expires) {
		i.Expires = end
	}
	return i
}

// inBox calls do for a sandbox, if the policies allow the operation.
func (e *Engine) inBox(c Caller, id, op string, do func(*workspace.Sandbox) error) error {
	if no := e.mayDo(c, op); no != nil {
		return no
	}
	box, no := e.box(c, id)
	if no != nil {
		return no
	}
	if err := do(box); err != nil {
		return asRefusal(err, "sandbox", "file_refused")
	}
	return nil
}

// PutFile writes a file of a sandbox. path is an absolute path in the jail, or relative to /work. Only the nine
// permission bits of mode are used; 0 means 0644.
func (e *Engine) PutFile(c Caller, id, path string, r io.Reader, mode fs.FileMode) (info *FileInfo, err error) {
	if mode == 0 {
		mode = 0o644
	}
	err = e.inBox(c, id, "put", func(box *workspace.Sandbox) (err error) {
		most := int64(MaxPutSize)
		for _, p := range e.policiesOf(c) {
			if n := int64(p.Inputs.FileBytes); n > 0 {
				most = min(most, n)
			}
		}
		info, err = e.put(box, onFile(audit.FilePut, c, box, path), path, r, mode, most)
		return err
	})
	return info, err
}

// GetFile opens a file of a sandbox. It is always a regular file, even if its name is replaced concurrently.
func (e *Engine) GetFile(c Caller, id, path string) (f io.ReadCloser, info *FileInfo, err error) {
	err = e.inBox(c, id, "get", func(box *workspace.Sandbox) (err error) {
		f, info, err = box.Tree.Open(path)
		return err
	})
	return f, info, err
}

// ListFiles lists a directory of a sandbox, and its subdirectories if recursive is set. more reports whether there are
// further entries. Those of a single directory are returned by another call with the last path as after.
func (e *Engine) ListFiles(c Caller, id, path string, recursive bool, after string) (
	list []FileInfo, more bool, err error) {
	err = e.inBox(c, id, "list", func(box *workspace.Sandbox) (err error) {
		list, more, err = box.Tree.List(path, recursive, after, workspace.MaxList)
		return err
	})
	return list, more, err
}

// DeleteFile deletes a file, or a directory with everything in it, from a sandbox.
func (e *Engine) DeleteFile(c Caller, id, path string) error {
	return e.inBox(c, id, "delete", func(box *workspace.Sandbox) error {
		if err := workspace.CheckPath(path); err != nil {
			return err
		}
		if no := e.record(onFile(audit.FileDelete, c, box, path)); no != nil {
			return no
		}
		return box.Tree.Remove(path)
	})
}

// Allowed reports whether a payload in the sandbox may read, or with write set may write, a path.
func (e *Engine) Allowed(c Caller, id, path string, write bool) (yes bool, err error) {
	err = e.inBox(c, id, "list", func(box *workspace.Sandbox) (err error) {
		yes, err = box.Tree.Allowed(path, write)
		return err
	})
	return yes, err
}

// Languages lists the available languages. The first call asks each for its version, in a jail.
func (e *Engine) Languages() []Language {
	_ = e.langs.Versions(context.Background(), e.jails) // on error, versions are ""
	list := []Language{}
	for _, l := range e.langs.List() {
		list = append(list, Language{Name: l.Name, Version: l.Version, Path: l.Path})
	}
	return list
}

// FillGoCache compiles Go's standard library into a volume that is mounted read-only for every run of Go code, which
// then takes half a second of processor time instead of fifteen. It takes about a minute of processor time and 256 MiB
// of memory. Runs in the meantime do not use the cache.
func (e *Engine) FillGoCache(ctx context.Context) error {
	v, err := e.runner.NewVolume(nsjail.VolumeOptions{Size: 320 << 20, Inodes: 8192, Dirs: []string{"cache"}})
	if err != nil {
		return err
	}
	if err := e.langs.FillGoCache(ctx, e.jails, v.ID()+"/cache"); err != nil {
		return errors.Join(err, v.Close())
	}
	return nil // the volume ends with the Runner
}

package remote

import (
	"context"
	"io"
	"net/url"
	"strconv"
	"time"

	"brig/brigd/engine"
)

// processes are those of the workers.
type processes struct{ at *Engine }

// about returns a request about a process of a sandbox.
func (p processes) about(c engine.Caller, id, name, method string, parts ...string) *request {
	return p.at.about(c, id, method, append([]string{"/processes/" + url.PathEscape(name)}, parts...)...)
}

// StartProcess starts a process in a living sandbox.
func (p processes) StartProcess(ctx context.Context, c engine.Caller, id string, r *engine.ProcessRequest,
	attached context.Context) (*engine.ProcessInfo, error) {
	if no := p.at.count(c); no != nil {
		return nil, no
	}
	q := p.at.about(c, id, "POST", "/processes")
	q.ctx = ctx
	info := &engine.ProcessInfo{}
	if err := p.at.get(q, r, info); err != nil {
		return nil, err
	}
	if attached != nil && !r.Detached {
		context.AfterFunc(attached, func() { _ = p.SignalProcess(c, id, info.ID, "KILL") }) // it may have ended
	}
	return info, nil
}

// Processes lists the processes of a living sandbox.
func (p processes) Processes(c engine.Caller, id string) ([]engine.ProcessInfo, error) {
	var a struct{ Processes []engine.ProcessInfo }
	err := p.at.get(p.at.about(c, id, "GET", "/processes"), nil, &a)
	return a.Processes, err
}

// Process describes a process.
func (p processes) Process(c engine.Caller, id, name string) (*engine.ProcessInfo, error) {
	info := &engine.ProcessInfo{}
	return info, p.at.get(p.about(c, id, name, "GET"), nil, info)
}

// ProcessOutput returns what a process has written from an offset on.
func (p processes) ProcessOutput(ctx context.Context, c engine.Caller, id, name string, offset int64,
	wait time.Duration) (*engine.ProcessOutput, error) {
	q := p.about(c, id, name, "GET", "/output"+query("offset", strconv.FormatInt(offset, 10), "wait", wait.String()))
	q.ctx = ctx
	out := &engine.ProcessOutput{}
	return out, p.at.get(q, nil, out)
}

// ProcessInput sends input to a process.
func (p processes) ProcessInput(ctx context.Context, c engine.Caller, id, name string, in io.Reader, eof bool) (int64,
	error) {
	q := p.about(c, id, name, "POST", "/stdin"+query("eof", strconv.FormatBool(eof)))
	q.ctx, q.kind = ctx, "application/octet-stream"
	var taken struct{ Bytes int64 }
	err := p.at.put(q, in, &taken)
	return taken.Bytes, err
}

// SignalProcess sends a signal to a process.
func (p processes) SignalProcess(c engine.Caller, id, name, signal string) error {
	return p.at.get(p.about(c, id, name, "POST", "/signal"), map[string]string{"signal": signal}, nil)
}

// ResizeProcess changes the size of the terminal of a process.
func (p processes) ResizeProcess(c engine.Caller, id, name string, size engine.TerminalSize) error {
	return p.at.get(p.about(c, id, name, "POST", "/resize"), size, nil)
}

// DeleteProcess ends a process, and forgets it.
func (p processes) DeleteProcess(c engine.Caller, id, name string) error {
	return p.at.get(p.about(c, id, name, "DELETE"), nil, nil)
}

// FreezeSandbox stops the processes of a living sandbox.
func (p processes) FreezeSandbox(c engine.Caller, id string) error {
	return p.at.get(p.at.about(c, id, "POST", "/freeze"), nil, nil)
}

// ThawSandbox lets them go on.
func (p processes) ThawSandbox(c engine.Caller, id string) error {
	return p.at.get(p.at.about(c, id, "POST", "/thaw"), nil, nil)
}

package api

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/nsjail/spec"
)

// processHandlers answer requests about the processes of living sandboxes.
type processHandlers struct {
	processes front.Processes
	rate      interface{ Ask(caller string) error } // counts a run
	bodyTime  time.Duration
}

// live answers POST /v1/sandboxes/{id}/live.
func (h *processHandlers) live(c *call) (any, error) {
	var req engine.BoxRequest
	if err := c.body(&req); err != nil {
		return nil, err
	}
	if err := h.rate.Ask(c.Caller.Key()); err != nil { // a jail is started for it
		return nil, err
	}
	return h.processes.LiveSandbox(c.R.Context(), c.Caller, c.id, &req)
}

// start answers POST /v1/sandboxes/{id}/processes.
func (h *processHandlers) start(c *call) (any, error) {
	kind, err := accepted(c.R.Header.Values("Accept"))
	if err != nil {
		return nil, err
	}
	var req engine.ProcessRequest
	if err := c.body(&req); err != nil {
		return nil, err
	}
	if err := h.rate.Ask(c.Caller.Key()); err != nil {
		return nil, err
	}
	var attached context.Context
	if kind != jsonType {
		attached = c.R.Context()
	}
	info, err := h.processes.StartProcess(c.R.Context(), c.Caller, c.id, &req, attached)
	if err != nil {
		return nil, err
	}
	c.ran(info.ID)
	if kind == jsonType {
		if front.ID.MatchString(c.id) && front.ID.MatchString(info.ID) {
			c.Header().Set("Location", "/v1/sandboxes/"+c.id+"/processes/"+info.ID)
		}
		return info, nil
	}
	return nil, h.follow(c, kind, info, 0)
}

func (h *processHandlers) list(c *call) (any, error) {
	list, err := h.processes.Processes(c.Caller, c.id)
	return ProcessList{append([]engine.ProcessInfo{}, list...)}, err
}

func (h *processHandlers) get(c *call) (any, error) {
	return h.processes.Process(c.Caller, c.id, c.name)
}

func (h *processHandlers) remove(c *call) (any, error) {
	return nil, h.processes.DeleteProcess(c.Caller, c.id, c.name)
}

// output answers GET of what a process has written, or streams it until the process ends.
func (h *processHandlers) output(c *call) (any, error) {
	kind, err := accepted(c.R.Header.Values("Accept"))
	if err != nil {
		return nil, err
	}
	offset := int64(-1)
	if c.query.Has("offset") {
		if offset, err = strconv.ParseInt(c.query.Get("offset"), 10, 64); err != nil || offset < -1 {
			return nil, no("request", "invalid_parameter", "offset", "offset: it is no number of bytes",
				"take next of an earlier answer, or leave it out for the first that is kept")
		}
	}
	if kind != jsonType {
		info, err := h.processes.Process(c.Caller, c.id, c.name)
		if err != nil {
			return nil, err
		}
		return nil, h.follow(c, kind, info, offset)
	}
	var wait spec.Duration
	if text := c.query.Get("wait"); text != "" {
		if wait, err = spec.ParseDuration(text); err != nil || wait < 0 {
			return nil, no("request", "invalid_parameter", "wait", "wait: it is no time", "write it as in 30s")
		}
	}
	return h.processes.ProcessOutput(c.R.Context(), c.Caller, c.id, c.name, offset, time.Duration(wait))
}

// streamWait is how long a stream waits for output before it asks again.
const streamWait = 30 * time.Second

// follow streams what a process writes from an offset on, until it has ended or the client goes away.
func (h *processHandlers) follow(c *call, kind string, info *engine.ProcessInfo, offset int64) error {
	failed := c.tell(kind, ProcessEvent{Type: "start", Process: info})
	for failed == nil {
		out, err := h.processes.ProcessOutput(c.R.Context(), c.Caller, c.id, info.ID, offset, streamWait)
		if err != nil { // it is not known any more: the client sees no end
			failed = err
			break
		}
		if out.Dropped > 0 {
			failed = c.tell(kind, ProcessEvent{Type: "dropped", Dropped: out.Dropped, Next: out.Offset})
		}
		at := out.Offset
		for i, p := range out.Output {
			if at += int64(len(p.Data)); i == len(out.Output)-1 {
				at = out.Next
			}
			if failed == nil {
				failed = c.tell(kind, ProcessEvent{Type: p.Stream, Data: p.Data, Next: at})
			}
		}
		offset = out.Next
		if failed = cmp.Or(failed, c.R.Context().Err()); failed == nil && !out.Running {
			if info, failed = h.processes.Process(c.Caller, c.id, info.ID); failed == nil {
				return c.tell(kind, ProcessEvent{Type: "end", Process: info, Next: offset})
			}
		}
	}
	c.Gone(failed)
	return nil
}

// tell writes one event at once.
func (c *call) tell(kind string, e ProcessEvent) error {
	if !c.Wrote() {
		c.streams(kind)
		c.WriteHeader(c.route.status)
	}
	if err := c.event(kind, e.Type, e); err != nil {
		return err
	}
	return c.FlushError()
}

// stdin answers POST of input.
func (h *processHandlers) stdin(c *call) (any, error) {
	if err := c.mediaType(binary); err != nil {
		return nil, err
	}
	in := &pieces{c, h.bodyTime}
	defer c.ReadTime(0)
	n, err := h.processes.ProcessInput(c.R.Context(), c.Caller, c.id, c.name, in, c.yes("eof"))
	if err != nil {
		c.Header().Set("Connection", "close") // the rest of the body is not read
		return nil, err
	}
	c.Taken = true
	return StdinTaken{n}, nil
}

// pieces reads a body that may come slowly: each piece has a time of its own.
type pieces struct {
	*call
	limit time.Duration
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	p.ReadTime(p.limit)
	return p.R.Body.Read(b)
}

func (h *processHandlers) signal(c *call) (any, error) {
	var req Signal
	if err := c.body(&req); err != nil {
		return nil, err
	}
	return nil, h.processes.SignalProcess(c.Caller, c.id, c.name, req.Signal)
}

func (h *processHandlers) resize(c *call) (any, error) {
	var size engine.TerminalSize
	if err := c.body(&size); err != nil {
		return nil, err
	}
	return nil, h.processes.ResizeProcess(c.Caller, c.id, c.name, size)
}

func (h *processHandlers) freeze(c *call) (any, error) {
	return nil, h.processes.FreezeSandbox(c.Caller, c.id)
}

func (h *processHandlers) thaw(c *call) (any, error) {
	return nil, h.processes.ThawSandbox(c.Caller, c.id)
}

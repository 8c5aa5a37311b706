package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/job"
)

type startIn struct {
	Cmd   []string `json:"cmd,omitempty"`   // a program and its arguments; no shell reads them
	Shell string   `json:"shell,omitempty"` // or a line for /bin/sh
	Name  string   `json:"name,omitempty"`  // a name of your choice for it, such as server
	TTY   bool     `json:"tty,omitempty"`   // gives it a terminal, as a debugger or an editor needs
	// environment variables
	Env map[string]string `json:"env,omitempty"`
	// environment variables whose values are masked in the output
	Secrets map[string]string `json:"secrets,omitempty"`
	Cwd     string            `json:"cwd,omitempty"` // the absolute directory that it starts in; /work if left out
	// how long it may take; as long as the session if left out
	Timeout engine.Seconds `json:"timeout,omitempty"`
	// what may be reached; the first start decides, for everything that runs in the session from then on
	Network []string `json:"network,omitempty"`
	Image   string   `json:"image,omitempty"` // the root; likewise
}

type processIn struct {
	Process string `json:"process"` // its name, pid or id
}

type outputIn struct {
	processIn
	Wait engine.Seconds `json:"wait,omitempty"` // how long to wait for output, at most 1m; 5s if left out
	// where to begin, in bytes; behind what this session has read if left out
	Offset *int64 `json:"offset,omitempty"`
}

type inputIn struct {
	processIn
	Text string         `json:"text,omitempty"` // what it reads; a line ends with \n
	EOF  bool           `json:"eof,omitempty"`  // ends its input; of a terminal, Ctrl-D
	Wait engine.Seconds `json:"wait,omitempty"` // how long to wait for an answer, at most 1m; 2s if left out
}

type stopIn struct {
	processIn
	Signal string `json:"signal,omitempty"` // such as INT; TERM if left out, and KILL if that has not ended it in 5 s
}

type processOut struct {
	Process *engine.ProcessInfo `json:"process,omitempty"`
	Output  string              `json:"output"`                // what it has written to stdout and stderr
	Next    int64               `json:"next_offset,omitempty"` // behind output
	Dropped int64               `json:"dropped,omitempty"`     // bytes before output that are not kept any more
	Error   *job.Refusal        `json:"error,omitempty"`
}

type processesOut struct {
	Processes []engine.ProcessInfo `json:"processes"` // in the order of their start
	Ports     []engine.PortInfo    `json:"ports,omitempty"`
	Error     *job.Refusal         `json:"error,omitempty"`
}

func processTools() []*tool {
	hints := sdk.ToolAnnotations{DestructiveHint: yes(), OpenWorldHint: yes()}
	refused := func(no *job.Refusal) any { return &processOut{Error: no} }
	return []*tool{
		define[startIn, processOut]("start_process", "Start a process",
			"Starts a server, a shell or a long job that goes on between calls, and returns what it first writes. It has the "+
				"session's files, and from the first start on run_command and run_code reach its ports at localhost, unless they "+
				"name network, mounts, image, memory or cpus: then they run in a jail of their own.", hints, refused, startProcess),
		define[outputIn, processOut]("process_output", "Read a process's output", "Returns what a process has written since "+
			"it was read last, and how it has ended.", sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no()}, refused,
			processOutput),
		define[inputIn, processOut]("send_input", "Send input to a process",
			"Sends text to a process, and returns what it writes then.", hints, refused, sendInput),
		define[stopIn, processOut]("stop_process", "Stop a process", "Sends a signal to a process, and returns how it ended.",
			sdk.ToolAnnotations{DestructiveHint: yes(), OpenWorldHint: no()}, refused, stopProcess),
		define[noArgs, processesOut]("list_processes", "List processes",
			"Lists the processes that start_process has started, and the ports on which something listens.",
			sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: no()},
			func(no *job.Refusal) any { return &processesOut{Processes: []engine.ProcessInfo{}, Error: no} }, listProcesses),
	}
}

func startProcess(ctx context.Context, c *call, in *startIn) *sdk.CallToolResult {
	if err := c.Gate.Ask(c.who().Key()); err != nil {
		return c.refuse(asRefusal(err))
	}
	box := &engine.BoxRequest{Network: in.Network, Image: in.Image}
	r := &engine.ProcessRequest{Cmd: in.Cmd, Shell: in.Shell, Tag: in.Name, Env: in.Env, Secrets: in.Secrets, Cwd: in.Cwd,
		Timeout: in.Timeout, Stdin: !in.TTY, Strip: "all"}
	if in.TTY {
		r.TTY = &engine.TerminalSize{Rows: 24, Cols: 80}
	}
	for again := false; ; again = true {
		id, no := c.enliven(ctx, box)
		if no != nil {
			return c.refuse(no)
		}
		p, err := c.Engine.StartProcess(ctx, c.who(), id, r, nil)
		if err == nil {
			return c.heard(ctx, id, p.ID, nil, time.Second)
		}
		if no = c.living.ended(id, c.lost(id, asRefusal(err))); no.Code != "box_ended" || again {
			return c.refuse(no)
		}
	}
}

func processOutput(ctx context.Context, c *call, in *outputIn) *sdk.CallToolResult {
	wait := 5 * time.Second
	if in.Wait > 0 {
		wait = time.Duration(in.Wait)
	}
	return c.about(in.Process, func(id, process string) (*sdk.CallToolResult, error) {
		return c.heard(ctx, id, process, in.Offset, wait), nil
	})
}

func sendInput(ctx context.Context, c *call, in *inputIn) *sdk.CallToolResult {
	wait := 2 * time.Second
	if in.Wait > 0 {
		wait = time.Duration(in.Wait)
	}
	return c.about(in.Process, func(id, process string) (*sdk.CallToolResult, error) {
		if _, err := c.Engine.ProcessInput(ctx, c.who(), id, process, strings.NewReader(in.Text), in.EOF); err != nil {
			return nil, err
		}
		return c.heard(ctx, id, process, nil, wait), nil
	})
}

func stopProcess(ctx context.Context, c *call, in *stopIn) *sdk.CallToolResult {
	return c.about(in.Process, func(id, process string) (*sdk.CallToolResult, error) {
		signal := in.Signal
		if signal == "" {
			signal = "TERM"
		}
		if err := c.Engine.SignalProcess(c.who(), id, process, signal); err != nil {
			return nil, err
		}
		running, err := c.outlives(ctx, id, process, c.stop)
		if err == nil && running && in.Signal == "" {
			err = c.Engine.SignalProcess(c.who(), id, process, "KILL")
			if refusedFor(err, "process_ended") {
				err = nil
			}
			if err == nil {
				_, err = c.outlives(ctx, id, process, c.stop)
			}
		}
		if err != nil {
			return nil, err
		}
		return c.heard(ctx, id, process, nil, 0), nil
	})
}

// outlives waits for the end of a process, and reports whether it runs for longer than some time.
func (c *call) outlives(ctx context.Context, id, process string, most time.Duration) (bool, error) {
	end := time.Now().Add(most)
	for next := c.living.from(process); ; {
		out, err := c.Engine.ProcessOutput(ctx, c.who(), id, process, next, time.Until(end))
		if err != nil || !out.Running || !time.Now().Before(end) {
			return err == nil && out.Running, err
		}
		next = out.Next
	}
}

func listProcesses(_ context.Context, c *call, _ *noArgs) *sdk.CallToolResult {
	out := &processesOut{Processes: []engine.ProcessInfo{}}
	id := c.living.where()
	if id == "" {
		return result(out, false, "No process has been started.")
	}
	list, err := c.Engine.Processes(c.who(), id)
	if err == nil {
		out.Processes = append(out.Processes, list...)
		out.Ports, err = c.Engine.Ports(c.who(), id)
		if refusedFor(err, "operation_not_allowed") {
			err = nil // it may have processes, and no ports
		}
	}
	if err != nil {
		return c.failed(id, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d processes:\n", len(out.Processes))
	for i := range out.Processes {
		p := &out.Processes[i]
		fmt.Fprintf(&b, "%s\t%q\n", stands(p), p.Cmd)
	}
	for _, p := range out.Ports {
		fmt.Fprintf(&b, "something listens on port %d\n", p.Port)
	}
	return result(out, false, b.String())
}

// refusedFor reports whether an error is a refusal with a code.
func refusedFor(err error, code string) bool {
	no, ok := errors.AsType[*job.Refusal](err)
	return ok && no.Code == code
}

// about calls do for a process of the session's, with the id of the sandbox and that of the process.
func (c *call) about(name string, do func(id, process string) (*sdk.CallToolResult, error)) (
	res *sdk.CallToolResult) {
	id := c.living.where()
	if id == "" {
		return c.refuse(refuse("sandbox", "process_unknown", c.tool.def.Name+": process", "no process has been started",
			"Call start_process."))
	}
	p, err := c.Engine.Process(c.who(), id, name)
	if err == nil {
		res, err = do(id, p.ID)
	}
	if err != nil {
		return c.failed(id, err)
	}
	return res
}

// heard returns what a process has written, from an offset or from where the session has read to, and how it stands.
func (c *call) heard(ctx context.Context, id, process string, offset *int64, wait time.Duration) *sdk.CallToolResult {
	from := c.living.from(process)
	if offset != nil {
		from = *offset
	}
	part, err := c.Engine.ProcessOutput(ctx, c.who(), id, process, from, wait)
	var p *engine.ProcessInfo
	if err == nil {
		p, err = c.Engine.Process(c.who(), id, process)
	}
	if err != nil {
		return c.failed(id, err)
	}
	out := &processOut{Process: p, Next: part.Offset, Dropped: part.Dropped}
	var text strings.Builder
	for _, piece := range part.Output {
		if text.Len() > 0 && text.Len()+len(piece.Data) > defaultOutput {
			break
		}
		text.WriteString(piece.Data)
		out.Next += int64(len(piece.Data))
	}
	out.Output = text.String()
	c.living.has(process, out.Next)
	return out.told(part.Next - out.Next)
}

// told returns it for a model. more bytes are there that it has not been shown.
func (o *processOut) told(more int64) *sdk.CallToolResult {
	first := stands(o.Process) + ".\n"
	if o.Dropped > 0 {
		first += fmt.Sprintf("%d bytes before this are not kept any more.\n", o.Dropped)
	}
	if more > 0 {
		first += fmt.Sprintf("%d bytes follow: call process_output again.\n", more)
	}
	if o.Output == "" {
		return result(o, false, first+"It has written nothing since.\n")
	}
	return result(o, false, first, "output:\n"+o.Output)
}

// stands returns how a process stands.
func stands(p *engine.ProcessInfo) string {
	name := fmt.Sprintf("Process %d", p.PID)
	if p.Tag != "" {
		name += " (" + p.Tag + ")"
	}
	if p.Running {
		return name + " runs"
	}
	if p.Result == nil {
		return name + " has ended"
	}
	return name + " has ended: " + p.Result.Status + ", " + ending(p.Result)
}

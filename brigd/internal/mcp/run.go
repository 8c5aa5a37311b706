package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"brig/brigd/engine"
	"brig/brigd/internal/schema"
	"brig/brigd/job"
	"brig/denial"
	"brig/nsjail"
)

// limits are the arguments that all runs have.
type limits struct {
	Stdin string `json:"stdin,omitempty"` // the standard input
	// files to put below /input before it starts, by relative path
	Files   map[string]engine.File `json:"files,omitempty"`
	Timeout engine.Seconds         `json:"timeout,omitempty"` // how long it may take: seconds, or a text like 1m30s
	Memory  engine.Size            `json:"memory,omitempty"`  // how much memory it may hold: bytes, or a text like 512m
	CPUs    float64                `json:"cpus,omitempty"`    // how many processors' worth of time it gets
	Env     map[string]string      `json:"env,omitempty"`     // environment variables
	// environment variables whose values are masked in the output
	Secrets map[string]string `json:"secrets,omitempty"`
	Cwd     string            `json:"cwd,omitempty"` // the absolute directory that it starts in; /work if left out
	// what it may reach, such as example.org:443 or *.example.org; nothing if left out
	Network []string `json:"network,omitempty"`
	Image   string   `json:"image,omitempty"` // an image of the operator's as the root, instead of the machine's /usr
	// directories of the operator's to show
	Mounts []mountIn `json:"mounts,omitempty"`
	// how many bytes of stdout and of stderr are returned, head and tail; 64k if left out
	MaxOutput engine.Size `json:"max_output,omitempty"`
	// what is removed from the output: all (the default: escape sequences, control and invisible characters), ansi (escape
	// sequences), or none
	Strip string `json:"strip,omitempty"`
}

// mountIn is an engine.Mount.
type mountIn struct {
	Share   string   `json:"share"`             // its name
	Target  string   `json:"target"`            // where it is shown: at or below /data, /mnt, /srv or /code
	Path    string   `json:"path,omitempty"`    // a directory in it; all of it if left out
	Mode    string   `json:"mode,omitempty"`    // ro, cow (a copy whose changes are kept apart) or rw
	Protect []string `json:"protect,omitempty"` // paths below target that the run cannot change
}

type codeIn struct {
	Language string   `json:"language"`       // one of those that list_languages names, such as python
	Code     string   `json:"code"`           // the program's text
	Args     []string `json:"args,omitempty"` // the program's arguments
	limits
}

type commandIn struct {
	Cmd []string `json:"cmd"` // a program and its arguments, each an element of its own; no shell reads them
	limits
}

// request returns a request with the limits of l.
func (l *limits) request() *engine.Request {
	if l.Strip == "" {
		l.Strip = "all"
	}
	var mounts []engine.Mount
	for _, m := range l.Mounts {
		mounts = append(mounts, engine.Mount(m))
	}
	return &engine.Request{Stdin: l.Stdin, Files: l.Files, Timeout: l.Timeout, Memory: l.Memory, CPUs: l.CPUs, Env: l.Env,
		Secrets: l.Secrets,
		Cwd:     l.Cwd, Network: l.Network, Image: l.Image, Mounts: mounts, MaxOutput: l.MaxOutput, Strip: l.Strip}
}

const jail = " It runs in a jail with the session's files: /input is read-only, /work (where it starts) and " +
	"/output keep what it writes for later " +
	"calls, /tmp does not. It sees the machine's programs in /usr and no other files, has no privileges, and reaches " +
	"no network but what the " +
	"argument network names. When the call ends, all its processes end: start_process is for those that go on. A result " +
	"says how it ended, even if it failed."

func runTools() []*tool {
	hints := sdk.ToolAnnotations{DestructiveHint: yes(), OpenWorldHint: yes()}
	list := []*tool{
		define[codeIn, engine.Response]("run_code", "Run code",
			"Runs a program in one of the languages that list_languages names, in a jail and with limits as run_command, and "+
				"returns its output.", hints, refusedRun,
			func(ctx context.Context, c *call, in *codeIn) *sdk.CallToolResult {
				r := in.request()
				r.Language, r.Code, r.Args = in.Language, in.Code, in.Args
				return c.run(ctx, r, false)
			}),
		define[commandIn, engine.Response]("run_command", "Run a command",
			"Runs a command and returns its output. No shell reads cmd: for pipes and wildcards run "+
				"[\"sh\", \"-c\", \"...\"]."+jail, hints, refusedRun,
			func(ctx context.Context, c *call, in *commandIn) *sdk.CallToolResult {
				r := in.request()
				r.Cmd = in.Cmd
				return c.run(ctx, r, false)
			}),
	}
	shared := list[1].def.InputSchema.(*schema.Schema).Properties
	for name, p := range list[0].def.InputSchema.(*schema.Schema).Properties {
		if shared[name] != nil {
			undescribed(p)
		}
	}
	for _, t := range list {
		t.mounts = true
	}
	return list
}

func refusedRun(no *job.Refusal) any {
	return &engine.Response{Status: "refused", ExitCode: -1, Error: no}
}

// run runs a request in the session's sandbox, or in a fresh one.
func (c *call) run(ctx context.Context, r *engine.Request, fresh bool) *sdk.CallToolResult {
	if !fresh {
		id, no := c.box(ctx)
		if no != nil {
			return c.refuse(no)
		}
		r.Sandbox = id
		r.Apart = len(r.Network) > 0 || len(r.Mounts) > 0 || r.Image != "" || r.Memory != 0 || r.CPUs != 0
	}
	if r.MaxOutput <= 0 {
		r.MaxOutput = defaultOutput
	}
	if c.progress != nil {
		c.progress.begin(ctx, time.Duration(r.Timeout))
		defer c.progress.end() // before the result is sent
		c.progress.say("waiting for its turn")
		r.Watch = c.progress.event
	}
	key := c.who().Key()
	if err := c.Gate.Ask(key); err != nil {
		return c.refuse(asRefusal(err))
	}
	release, err := c.Admit(ctx, c.who(), r)
	if err != nil {
		return c.refuse(asRefusal(err))
	}
	defer release()
	r.Ended = release
	a := c.Engine.Run(ctx, c.who(), r, nil)
	if a.Error != nil {
		a.Error = c.living.ended(r.Sandbox, c.lost(r.Sandbox, a.Error))
		return c.tool.refusal(a, a.Error)
	}
	a.Denials = slices.DeleteFunc(a.Denials, func(d denial.Denial) bool {
		return d.Layer == "syscall" && slices.Contains(harmless, d.Name)
	})
	enforced := a.Enforced
	a.Enforced = nil // for programs only: a model would read it after every call
	res := result(a, a.Status != string(nsjail.StatusOK), told(a)...)
	if len(enforced) > 0 {
		res.Meta = sdk.Meta{enforcedKey: enforced}
	}
	return res
}

// harmless are calls that libraries make at each start and whose refusal changes nothing: where memory is placed. A
// model would look there for the reason of whatever else went wrong.
var harmless = []string{"mbind", "get_mempolicy", "set_mempolicy", "set_mempolicy_home_node", "migrate_pages",
	"move_pages"}

// enforcedKey is the key in a result's _meta of the map from protections to the mechanisms that enforce them.
const enforcedKey = "brig/enforced"

// told returns a response as text for a model: the outcome, and each stream that is not empty.
func told(a *engine.Response) []string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", a.Status, ending(a))
	if a.Usage != nil {
		fmt.Fprintf(&b, " after %.3g s", time.Duration(a.Usage.Wall).Seconds())
	}
	b.WriteString(".\n")
	if text := advice[a.Status]; text != "" {
		fmt.Fprintf(&b, "%s\n", text)
	}
	for _, v := range a.Violations {
		fmt.Fprintf(&b, "Forbidden %s (%d): %s.\n", v.Type, v.Count, v.Detail)
		if v.Type == "network" {
			b.WriteString("Name what it may reach in the argument network, such as \"example.org:443\".\n")
		}
	}
	b.WriteString(denied(a.Denials))
	b.WriteString(changesText(a.Changes))
	for _, g := range a.Git {
		b.WriteString(g.String())
	}
	for _, s := range a.Hints {
		fmt.Fprintf(&b, "A hint: %s\n", s)
	}
	for _, s := range a.Narrowed {
		fmt.Fprintf(&b, "A policy changed the request: %s.\n", strings.TrimSuffix(s, "."))
	}
	missing := engine.Truncated{}
	if a.Truncated != nil {
		missing = *a.Truncated
	}
	texts := []string{""}
	for _, s := range []struct {
		name, text string
		missing    int64
	}{{"stdout", a.Stdout, missing.Stdout}, {"stderr", a.Stderr, missing.Stderr}} {
		if s.missing > 0 {
			fmt.Fprintf(&b, "%s lacks %d bytes in its middle: ask for more with max_output, or write it to a file and read "+
				"that.\n", s.name, s.missing)
		}
		if s.text != "" {
			texts = append(texts, s.name+":\n"+s.text)
		} else {
			fmt.Fprintf(&b, "%s is empty.\n", s.name)
		}
	}
	texts[0] = b.String()
	return texts
}

// maxDenied is how many refused system calls a model is told of.
const maxDenied = 5

// denied returns a line for each of the system calls that the jail refused most often. It leaves out what would allow
// them, since only the operator can do that.
func denied(list []denial.Denial) string {
	var b strings.Builder
	list = slices.DeleteFunc(slices.Clone(list), func(d denial.Denial) bool { return d.Layer != "syscall" })
	for i, d := range list {
		if i == maxDenied {
			fmt.Fprintf(&b, "Refused: %d other system calls.\n", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "Refused: %s (%d): %s.\n", d.Name, d.Count, d.Why)
	}
	return b.String()
}

func ending(a *engine.Response) string {
	switch {
	case a.TimedOut:
		return "the time limit ended it"
	case a.Signal != "":
		return "signal " + a.Signal + " ended it"
	case a.ExitCode < 0:
		return "it did not exit by itself"
	}
	return fmt.Sprintf("exit code %d", a.ExitCode)
}

// advice maps statuses that the program did not choose to a remedy.
var advice = map[string]string{
	"timeout":   "Make it faster, divide the work, or call again with a longer timeout.",
	"cpu":       "It used all its processor time: make it faster, or divide the work.",
	"memory":    "It ran out of memory: use less, or call again with more memory.",
	"processes": "It may not start that many processes: start fewer.",
	"output":    "It printed more than it may: print less, or write to a file below /work.",
	"disk":      "Its disk is full: delete files below /work or /output, or write less.",
	"violation": "It made a system call that the jail does not allow.",
	"cancelled": "The call was cancelled.",
}

package engine

import (
	"time"

	"brig/brigd/internal/ring"
	"brig/cgroup"
)

// ProcessRequest asks for a process in a living sandbox. Exactly one of Cmd and Shell is set.
type ProcessRequest struct {
	// Cmd is a command and its arguments. No shell reads it.
	Cmd []string `json:"cmd,omitempty"`
	// Shell is a line that /bin/sh reads.
	Shell string `json:"shell,omitempty"`
	// Tag is a name of your choice for the process, beside its pid: letters, digits, - and _, not only digits.
	Tag string `json:"tag,omitempty"`
	// Env are environment variables.
	Env map[string]string `json:"env,omitempty"`
	// Secrets are environment variables whose values are masked in the output.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Cwd is the absolute directory that it starts in; /work if it is empty.
	Cwd string `json:"cwd,omitempty"`
	// TTY makes its streams a terminal of this size. All output is stdout then.
	TTY *TerminalSize `json:"tty,omitempty"`
	// Stdin keeps the standard input open for what is sent later; otherwise it is empty. A terminal has one always.
	Stdin bool `json:"stdin,omitempty"`
	// Timeout is how long it may take: seconds, or a text like "1m30s"; as long as the sandbox if it is left out.
	Timeout Seconds `json:"timeout,omitempty"`
	// Detached lets it go on when the client goes away that has started it and reads its stream.
	Detached bool `json:"detached,omitempty"`
	// Strip is what is removed from the output, as for a run.
	Strip string `json:"strip,omitempty"`
}

// TerminalSize is the size of a terminal, in characters.
type TerminalSize struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

// ProcessInfo describes a process of a living sandbox that a call has started.
type ProcessInfo struct {
	// ID names it in logs and in the audit log.
	ID string `json:"id"`
	// PID is its number in the box. It names the process in requests, as Tag and ID do.
	PID int    `json:"pid"`
	Tag string `json:"tag,omitempty"`
	// Cmd is what was asked for.
	Cmd     []string  `json:"cmd"`
	Started time.Time `json:"started"`
	Running bool      `json:"running"`
	// TTY is set if it has a terminal.
	TTY *TerminalSize `json:"tty,omitempty"`
	// Next is the offset behind its output so far, and Kept how many bytes of it can still be read.
	Next int64 `json:"next"`
	Kept int64 `json:"kept"`
	// Result is how it has ended, without its output.
	Result *Response `json:"result,omitempty"`
}

// ProcessOutput is a part of a process's output.
type ProcessOutput struct {
	ring.Part
	// Result is how the process has ended, once all of its output has been read.
	Result *Response `json:"result,omitempty"`
}

// Life is the box of a living sandbox.
type Life struct {
	// State is "running", "frozen" or "ended". When the box has ended, nothing more can be started in the sandbox.
	State string `json:"state"`
	// Image is the name of its root, with its digest; left out for the machine's.
	Image string `json:"image,omitempty"`
	// Processes is how many of those that calls have started run now.
	Processes int `json:"processes"`
	// Usage is what it uses now; left out without a control group.
	Usage *cgroup.LiveUsage `json:"usage,omitempty"`
	// Narrowed lists what a policy has taken away from the request, a sentence each.
	Narrowed []string `json:"narrowed,omitempty"`
	// Result is how the box has ended.
	Result *Response `json:"result,omitempty"`
}

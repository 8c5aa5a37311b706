package engine

import (
	"encoding/json"
	"io"
	"time"

	"brig/brigd/job"
	"brig/denial"
	"brig/nsjail"
)

// Request is one run as the faces take it: HTTP and MCP decode it from JSON, Go programs fill it in. Exactly one of
// Code (with Language) and Cmd is set.
type Request struct {
	// ID is the run's id; "" makes a new one. A run that is delivered twice by a queue has the same id both times.
	ID string `json:"-"`
	// Key names the request in a queue: an agent's second request with the same Key is answered as the first.
	Key string `json:"-"`
	// Urgency is the request's class in a queue: below 0 after others, above 0 before them.
	Urgency int `json:"-"`
	// Language is the language of Code: one of Engine.Languages.
	Language string `json:"language,omitempty"`
	// Code is a program's text.
	Code string `json:"code,omitempty"`
	// Cmd is a command and its arguments. No shell reads it.
	Cmd []string `json:"cmd,omitempty"`
	// StdinReader is read instead of Stdin, as the run goes on; nil for Stdin.
	StdinReader io.Reader `json:"-"`
	// Watch, if set, is called with the events of a run that has no stream, one at a time. It gets all output.
	Watch func(Event) `json:"-"`
	// Ended, if set, is called when a jail that has begun has no process left. That may be long before its output is
	// taken.
	Ended func() `json:"-"`
	// Args are given to Code as its arguments.
	Args []string `json:"args,omitempty"`
	// Files are put below /input, read-only, by their relative path. In a sandbox they stay there.
	Files map[string]File `json:"files,omitempty"`
	// Stdin is the standard input.
	Stdin string `json:"stdin,omitempty"`
	// Timeout is how long the run may take: seconds, or a text like "1m30s".
	Timeout Seconds `json:"timeout,omitempty"`
	// Memory is how much memory it may hold: bytes, or a text like "512m".
	Memory Size `json:"memory,omitempty"`
	// CPUs is how many processors' worth of time it gets.
	CPUs float64 `json:"cpus,omitempty"`
	// Env are environment variables.
	Env map[string]string `json:"env,omitempty"`
	// Secrets are environment variables whose values are masked in the output.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Cwd is the absolute directory that the run starts in; /work if it is empty.
	Cwd string `json:"cwd,omitempty"`
	// Image is the root instead of the machine's /usr: one of Engine.Images. Without Code and Cmd its own command is run.
	Image string `json:"image,omitempty"`
	// Network is what may be reached: rules like "example.org:443", none if it is empty.
	Network []string `json:"network,omitempty"`
	// Mounts are directories of the operator's to show, besides those of the sandbox.
	Mounts []Mount `json:"mounts,omitempty"`
	// Sandbox is the id of the sandbox to run in; a fresh, empty one that nothing remains of if it is empty.
	Sandbox string `json:"sandbox,omitempty"`
	// Apart runs it in a jail of its own where the sandbox lives: with the sandbox's files, and without its processes,
	// ports and bounds.
	Apart bool `json:"apart,omitempty"`
	// Agent is on whose behalf it runs, if no token names the agent.
	Agent string `json:"agent_id,omitempty"`
	// MaxOutput is how many bytes of stdout and of stderr are returned, head and tail.
	MaxOutput Size `json:"max_output,omitempty"`
	// StripANSI removes terminal escape sequences from the output: it is Strip "ansi".
	StripANSI bool `json:"strip_ansi,omitempty"`
	// Strip is what is removed from the output: "none", "ansi" (terminal escape sequences), or "all": those, other control
	// characters but tabs and ends of lines, and invisible characters.
	Strip string `json:"strip,omitempty"`

	endless bool // it is a process of a living sandbox, and may take as long as that lives
}

// Mount asks for a directory that the operator shares (brigd --share).
type Mount struct {
	// Share is the name of one of Engine.Shares.
	Share string `json:"share"`
	// Target is where the jail shows it: a path at or below /data, /mnt, /srv or /code, and outside of a sandbox also
	// /work, /input or /output.
	Target string `json:"target"`
	// Path is a directory below the share's, as in "sub/dir"; all of it if this is left out.
	Path string `json:"path,omitempty"`
	// Mode narrows what the share allows: "ro" is read-only, "cow" a copy whose changes are kept apart, "rw" writable;
	// what is allowed if it is left out.
	Mode string `json:"mode,omitempty"`
	// Protect are paths below Target that the run cannot change, absent ones too, as in ".git/hooks". They are added to
	// those that the operator protects in the share, and an answer lists both.
	Protect []string `json:"protect,omitempty"`
}

// ShareInfo describes a directory that the caller may mount.
type ShareInfo struct {
	// Name is what Mount.Share names.
	Name string `json:"share"`
	// Mode is the highest that is allowed.
	Mode string `json:"mode"`
	// Protect are paths below it that no run can change.
	Protect []string `json:"protect,omitempty"`
}

// Response is what happened.
type Response struct {
	// ID names the run in logs and in the audit log.
	ID string `json:"id"`
	// Status is how it ended: see nsjail.Status; "refused" if nothing has run, for the reason in Error, and "error" if the
	// jail could not be made.
	Status string `json:"status"`
	// ExitCode is the payload's; -1 if it did not exit by itself.
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	// Stdout and Stderr are valid UTF-8. In a stream they are empty: the pieces have come before.
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	TimedOut bool   `json:"timed_out"`
	// Usage is what the run took; left out if nothing has run.
	Usage *nsjail.Usage `json:"usage,omitempty"`
	// LimitsHit names the limits that were met.
	LimitsHit []string `json:"limits_hit,omitempty"`
	// Violations are what was tried and is forbidden.
	Violations []Violation `json:"violations,omitempty"`
	// Denials are what the jail has refused, each with the reason and with what would allow it.
	Denials []denial.Denial `json:"denials,omitempty"`
	// Network sums up what was reached and refused; left out without a network.
	Network json.RawMessage `json:"network,omitempty"`
	// Image is the name of the image that was the root, with its digest.
	Image string `json:"image,omitempty"`
	// Mounts are the shares that the jail showed, each with its mode.
	Mounts []Mount `json:"mounts,omitempty"`
	// Changes has a set for each share in mode cow that the run has changed.
	Changes []ChangeSet `json:"changes,omitempty"`
	// Git has an entry for each git directory of a writable share in which the run has written.
	Git []GitDir `json:"git,omitempty"`
	// Truncated is how many bytes of each stream are missing; left out if none is.
	Truncated *Truncated `json:"truncated,omitempty"`
	// Narrowed lists what a policy has taken away from the request, a sentence each.
	Narrowed []string `json:"narrowed,omitempty"`
	// Hints are guesses, from its last words, why the payload has failed, and which processes have ended with it.
	Hints []string `json:"hints,omitempty"`
	// Enforced maps each protection to the mechanism that enforced it.
	Enforced map[string]string `json:"enforced,omitempty"`
	// Warm means that the interpreter was started before the request came; Usage counts its start.
	Warm bool `json:"warm,omitempty"`
	// Queue is how the run came to its worker; left out without a queue.
	Queue *Delivery `json:"queue,omitempty"`
	// Error is the reason why nothing has run; left out if it has.
	Error *job.Refusal `json:"error,omitempty"`
	// RetryAfter is when a queue that is full may have room again; 0 if that is not the reason.
	RetryAfter time.Duration `json:"-"`
}

// Delivery is how a run came from a queue to its worker. Delivery is at least once: a run whose worker is lost is
// started again, and the first result that is stored counts.
type Delivery struct {
	// Worker is the name of the worker.
	Worker string `json:"worker"`
	// Attempt is 1 for the first delivery; more means that the run may have started before.
	Attempt int `json:"attempt"`
	// Waited is how long the run has waited in the queue, in milliseconds of the server's clock.
	Waited float64 `json:"waited_ms"`
}

// Violation is something forbidden that a run has tried.
type Violation struct {
	// Type is "syscall" or "network".
	Type   string `json:"type"`
	Detail string `json:"detail"`
	Count  int64  `json:"count"`
}

// Truncated counts the bytes that were left out between the head and the tail of each stream.
type Truncated struct {
	Stdout int64 `json:"stdout_bytes"`
	Stderr int64 `json:"stderr_bytes"`
}

// Event is a piece of a running run's output, or its start.
type Event struct {
	// Type is "start", "stdout", "stderr" or "end".
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
	// Data is valid UTF-8: a character is never cut in two.
	Data string `json:"data,omitempty"`
	// Result is set in "end".
	Result *Response `json:"result,omitempty"`
}

// ChangeSet is what a run has changed in its copy of a share (mode cow). The share itself is unchanged until the set is
// applied.
type ChangeSet struct {
	// ID names the set in requests; "" if it could not be kept, for the reason in Error.
	ID string `json:"id,omitempty"`
	// Share, Path and Target are those of the mount.
	Share  string `json:"share"`
	Path   string `json:"path,omitempty"`
	Target string `json:"target,omitempty"`
	// Created is when the run ended.
	Created time.Time `json:"created,omitzero"`
	// Status is how it ended.
	Status string `json:"status,omitempty"`
	// Files is how many files have changed, and Added and Removed how many lines of text.
	Files   int `json:"files"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// Bytes is the size of the files that are new or changed.
	Bytes int64 `json:"bytes"`
	// Dirs is how many directories were made, removed, or have another mode.
	Dirs int `json:"dirs,omitempty"`
	// LeftOut is how many files of the run the set does not hold, such as sockets. A run that has changed nothing else
	// has no ID.
	LeftOut int `json:"left_out,omitempty"`
	// CaptureUS is what the comparison took after the run, in microseconds.
	CaptureUS int64 `json:"capture_us,omitempty"`
	// Error is why the changes are lost, or that not all of them fit into the account's store.
	Error string `json:"error,omitempty"`
}

// ApplyRequest selects the changes to apply.
type ApplyRequest struct {
	// Paths are files and directories of the set; all if it is empty.
	Paths []string `json:"paths,omitempty"`
	// DryRun changes nothing, and only checks.
	DryRun bool `json:"dry_run,omitempty"`
}

// Applied is what was applied to a share.
type Applied struct {
	// Files is how many files were changed, or would be.
	Files int `json:"files"`
	// Dirs is how many directories were made, removed, or have another mode.
	Dirs int `json:"dirs,omitempty"`
	// Done is how many had these changes already.
	Done int `json:"done"`
	// Removed means that the set is gone, since the share has all of its changes.
	Removed bool `json:"removed"`
	// LeftBehind are the first paths in git directories that are no data, such as hooks, settings and links: only the
	// operator can apply these.
	LeftBehind []string `json:"left_behind,omitempty"`
}

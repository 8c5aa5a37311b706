package audit

import (
	"encoding/json"

	"brig/nsjail"
)

// The kinds of events. Those that begin with "log." are the log's own; a caller of Append may use any other word of
// small letters, dots and underscores.
const (
	RunStart   = "run.start"   // before a run; it may run only once this is written
	RunEnd     = "run.end"     // after it
	RunRefused = "run.refused" // instead of both: the run was refused

	SandboxCreate = "sandbox.create" // a work area was made
	SandboxDelete = "sandbox.delete" // before it ends: it is deleted, has expired, or its token has
	FilePut       = "file.put"       // before a file of a sandbox gets its content, from outside of a run
	FileDelete    = "file.delete"    // before one is removed, likewise
	AuthRefused   = "auth.refused"   // a caller could not prove who it is; those of a minute are one event

	LogOpen       = "log.open"       // a writer has begun
	LogClose      = "log.close"      // and ended in good order
	LogRecovered  = "log.recovered"  // the writer before was killed in the middle of a line, which has been set aside
	LogGap        = "log.gap"        // for a while nothing could be written
	LogRotated    = "log.rotated"    // the first line of the next file
	LogCheckpoint = "log.checkpoint" // a signature of all up to here
)

// Event is the content of one line, without its place in the chain. Fields that do not apply are left out.
type Event struct {
	Kind string `json:"event"`
	// Run, Agent, Token, Sandbox and Language are the Job's.
	Run      string `json:"run,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Token    string `json:"token,omitempty"`
	Sandbox  string `json:"sandbox,omitempty"`
	Language string `json:"language,omitempty"`
	// The digests are SHA-256 in hexadecimal: of Job.Code; of the arguments, each followed by a zero byte; of the Spec
	// (see nsjail.Spec.Digest), as it was when the event was made; of what was performed (Job.PlanDigest): the programs of
	// the launcher, and the identity and attributes of the mounts that were passed to it by descriptor. It does not cover
	// what the files in a mount hold.
	CodeDigest string `json:"code_sha256,omitempty"`
	CodeBytes  int    `json:"code_bytes,omitempty"`
	ArgvDigest string `json:"argv_sha256,omitempty"`
	Argc       int    `json:"argc,omitempty"`
	SpecDigest string `json:"spec_sha256,omitempty"`
	PlanDigest string `json:"plan_sha256,omitempty"`
	// Path is the file of a sandbox, as a jail sees it; Bytes and Digest are of its content.
	Path string `json:"path,omitempty"`
	// Source is where a refused caller came from. Count is the number of its attempts, if more than one.
	Source string `json:"source,omitempty"`
	Count  int64  `json:"count,omitempty"`
	// Argv is there only with Options.Argv.
	Argv    []string `json:"argv,omitempty"`
	Verdict *Verdict `json:"verdict,omitempty"`
	// The following are for run.end: see nsjail.Result.
	Status    string            `json:"status,omitempty"`
	ExitCode  *int              `json:"exit_code,omitempty"`
	Signal    string            `json:"signal,omitempty"`
	TimedOut  bool              `json:"timed_out,omitempty"`
	LimitsHit []string          `json:"limits_hit,omitempty"`
	Output    *nsjail.Output    `json:"output,omitempty"`
	Usage     json.RawMessage   `json:"usage,omitempty"` // a nsjail.Usage
	Network   *Network          `json:"network,omitempty"`
	Violation *nsjail.Violation `json:"violation,omitempty"`
	// Error is a message of the log's own events. In a run's event it is what failed and the system's error. The whole
	// message, which may repeat an argument or a path, is there only with Options.Argv.
	Error string `json:"error,omitempty"`
	// Note is a sentence; of the log's own events, or of Append's caller.
	Note string `json:"note,omitempty"`
	// File is the name of the log's file that was rotated away, or of the one that took a torn line. Bytes and Digest are
	// of the torn line, or of Path.
	File   string `json:"file,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Digest string `json:"digest_sha256,omitempty"`
	// Missed counts the events that could not be written, and Runs are the first of the runs that they were about.
	Missed int64    `json:"missed,omitempty"`
	Runs   []string `json:"runs,omitempty"`
	// Key is the id of the key that has signed a checkpoint, and Signature the ed25519 signature in base64.
	Key       string `json:"key,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// Verdict is what was decided about a run: see nsjail.Verdict.
type Verdict struct {
	Allowed  bool     `json:"allowed"`
	Policies []string `json:"policies,omitempty"`
	Narrowed []string `json:"narrowed,omitempty"`
	// Layer, Code, Rule and Error are the Refusal's. Error may repeat an argument, and is there only with Options.Argv.
	Layer string `json:"layer,omitempty"`
	Code  string `json:"code,omitempty"`
	Rule  string `json:"rule,omitempty"`
	Error string `json:"error,omitempty"`
}

// Network sums up what a run has reached and tried to reach: see nsjail.Result.Network.
type Network struct {
	Total      int            `json:"total"`
	ByVerdict  map[string]int `json:"by_verdict,omitempty"`
	ByReason   map[string]int `json:"by_reason,omitempty"`
	ByHost     map[string]int `json:"by_host,omitempty"` // the first hostsKept in alphabetical order
	Sent       int64          `json:"sent"`              // bytes out of the jail
	Received   int64          `json:"received"`
	Unrecorded int            `json:"unrecorded,omitempty"`
}

// Bounds of what comes from outside, in bytes before it is escaped; what is longer is cut, and marked as cut.
const (
	maxName   = 256
	maxText   = 1024
	maxList   = 32
	maxArgv   = 8 << 10
	hostsKept = 64
	// MaxLine bounds a line, in bytes.
	MaxLine = 256 << 10
)

package audit

import (
	"encoding/json"

	"brig/nsjail"
)

// The kinds of events. Those that begin with "log." are reserved. A caller of Append may use any other name of
// lower-case letters, dots and underscores.
const (
	RunStart   = "run.start"   // before a run, which must not start unless this is written
	RunEnd     = "run.end"     // after a run
	RunRefused = "run.refused" // instead of both, if the run was refused
	RunSent    = "run.sent"    // before a run is put into a queue or sent to a worker; run.end is the answer from there

	SandboxCreate   = "sandbox.create"   // after a sandbox was created
	SandboxDelete   = "sandbox.delete"   // before a sandbox ends: it is deleted, or it or its token has expired
	FilePut         = "file.put"         // before a file of a sandbox is written from outside of a run
	FileDelete      = "file.delete"      // before a file is removed from outside of a run
	FileMove        = "file.move"        // before a file is renamed from outside of a run
	FileChmod       = "file.chmod"       // before a file's permissions are set from outside of a run: the note has them
	DirMake         = "dir.make"         // before a directory is made from outside of a run
	TreePut         = "tree.put"         // before files of an archive are written from outside of a run
	TreePutEnd      = "tree.put_end"     // after that, with the archive's digest if all of it was written
	ChangesKeep     = "changes.keep"     // after a run's changes of a share were stored: its digest is the set's id
	ChangesApply    = "changes.apply"    // before a change set is applied to a share
	ChangesDiscard  = "changes.discard"  // before a change set is removed
	SandboxRestore  = "sandbox.restore"  // after a sandbox was restored from the store
	SandboxSnapshot = "sandbox.snapshot" // before a snapshot is made, which the note names
	SnapshotDelete  = "snapshot.delete"  // before a snapshot is deleted
	PortOpen        = "port.open"        // before a link to a port of a sandbox is made: the note has the port
	AuthRefused     = "auth.refused"     // a caller failed to authenticate; repeated failures in a minute are one event

	LogOpen       = "log.open"       // a writer has opened the log
	LogClose      = "log.close"      // a writer has closed the log
	LogRecovered  = "log.recovered"  // the previous writer was killed while writing a line, which was moved away
	LogGap        = "log.gap"        // nothing could be written for some time
	LogRotated    = "log.rotated"    // the first line of the next file
	LogCheckpoint = "log.checkpoint" // a signature of all lines so far
)

// Event is the content of one line, without its place in the chain. Fields that do not apply are omitted.
type Event struct {
	Kind string `json:"event"`
	// Run, Agent, Token, Sandbox and Language are copied from the Job.
	Run      string `json:"run,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Token    string `json:"token,omitempty"`
	Sandbox  string `json:"sandbox,omitempty"`
	Language string `json:"language,omitempty"`
	// The digests are SHA-256 in hexadecimal. CodeDigest is of Job.Code; ArgvDigest of the arguments, each followed by a
	// zero byte; SpecDigest of the Spec when the event was created (see nsjail.Spec.Digest); PlanDigest of what was
	// performed (Job.PlanDigest): the launcher's programs, and the identity and attributes of the mounts passed by
	// descriptor. It does not cover the content of files in a mount. With Warm it is of the jail that was made
	// before the run was known: its arguments, environment and files are those of the interpreter's start.
	CodeDigest string `json:"code_sha256,omitempty"`
	CodeBytes  int    `json:"code_bytes,omitempty"`
	ArgvDigest string `json:"argv_sha256,omitempty"`
	Argc       int    `json:"argc,omitempty"`
	SpecDigest string `json:"spec_sha256,omitempty"`
	PlanDigest string `json:"plan_sha256,omitempty"`
	// Path is a file of a sandbox, as a path in the jail. Bytes and Digest describe its content.
	Path string `json:"path,omitempty"`
	// To is the new path of a file that is renamed.
	To string `json:"to,omitempty"`
	// Source is the origin of a refused caller. Count is the number of its attempts, if more than one.
	Source string `json:"source,omitempty"`
	Count  int64  `json:"count,omitempty"`
	// Argv has the arguments, only with Options.Argv.
	Argv    []string `json:"argv,omitempty"`
	Verdict *Verdict `json:"verdict,omitempty"`
	// Image is the image that is the root, with its digest.
	Image string `json:"image,omitempty"`
	// Shares are the directories of the operator's that the run is shown.
	Shares []Share `json:"shares,omitempty"`
	// The following are fields of run.end: see nsjail.Result.
	Status    string            `json:"status,omitempty"`
	ExitCode  *int              `json:"exit_code,omitempty"`
	Signal    string            `json:"signal,omitempty"`
	TimedOut  bool              `json:"timed_out,omitempty"`
	LimitsHit []string          `json:"limits_hit,omitempty"`
	Warm      bool              `json:"warm,omitempty"`
	Output    *nsjail.Output    `json:"output,omitempty"`
	Usage     json.RawMessage   `json:"usage,omitempty"` // a nsjail.Usage
	Network   *Network          `json:"network,omitempty"`
	Violation *nsjail.Violation `json:"violation,omitempty"`
	// Denials are what the jail has refused: see nsjail.Result.Denials.
	Denials []Denial `json:"denials,omitempty"`
	// Error is a message in the log's own events. In a run's event it is the failed operation and the system's error. The
	// whole message, which may contain an argument or a path, is logged only with Options.Argv.
	Error string `json:"error,omitempty"`
	// Note is a sentence, from the log itself or from the caller of Append.
	Note string `json:"note,omitempty"`
	// File is the name of the rotated file, or of the file to which an incomplete line was moved. Bytes and Digest
	// describe the incomplete line, or the content of Path.
	File   string `json:"file,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Digest string `json:"digest_sha256,omitempty"`
	// Missed is the number of events that could not be written, and Runs the first runs that they were about.
	Missed int64    `json:"missed,omitempty"`
	Runs   []string `json:"runs,omitempty"`
	// Key is the id of the key that signed a checkpoint, and Signature the ed25519 signature in base64.
	Key       string `json:"key,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// Verdict is the decision about a run: see job.Verdict.
type Verdict struct {
	Allowed  bool     `json:"allowed"`
	Policies []string `json:"policies,omitempty"`
	Narrowed []string `json:"narrowed,omitempty"`
	// Layer, Code, Rule and Error are the Refusal's. Error may contain an argument, and is logged only with Options.Argv.
	Layer string `json:"layer,omitempty"`
	Code  string `json:"code,omitempty"`
	Rule  string `json:"rule,omitempty"`
	Error string `json:"error,omitempty"`
}

// Share is a directory of the operator's in a jail.
type Share struct {
	Name     string `json:"share"`
	Source   string `json:"source"` // on the host, when it was opened
	Target   string `json:"target"` // in the jail
	Writable bool   `json:"writable,omitempty"`
}

// Denial is something that the jail has refused. Its reason and remedy follow from these fields: see package denial.
type Denial struct {
	Layer string `json:"layer"` // "syscall", "network" or "exec"
	// Name is the system call or the destination. The command's name is an argument, and logged only with Options.Argv.
	Name  string `json:"name,omitempty"`
	Count int64  `json:"count"`
}

// Network summarizes the network connections of a run, allowed and refused: see nsjail.Result.Network.
type Network struct {
	Total      int            `json:"total"`
	ByVerdict  map[string]int `json:"by_verdict,omitempty"`
	ByReason   map[string]int `json:"by_reason,omitempty"`
	ByHost     map[string]int `json:"by_host,omitempty"` // the first hostsKept in alphabetical order
	Sent       int64          `json:"sent"`              // bytes sent from the jail
	Received   int64          `json:"received"`
	Unrecorded int            `json:"unrecorded,omitempty"`
}

// Bounds of external texts, in bytes before escaping. Longer texts are truncated and marked.
const (
	maxName   = 256
	maxText   = 1024
	maxList   = 32
	maxArgv   = 8 << 10
	hostsKept = 64
	// maxDenials is above the number of system calls and of destinations that a Result has, so that no frequent call
	// hides a rare one.
	maxDenials = 600
	// MaxLine is the maximum length of a line in bytes.
	MaxLine = 256 << 10
)

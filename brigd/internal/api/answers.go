package api

import (
	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/live"
	"brig/brigd/internal/ring"
	"brig/brigd/job"
	"brig/cgroup"
	"brig/denial"
	"brig/nsjail"
)

const (
	binary  = "application/octet-stream"
	tarType = "application/x-tar"
)

// components returns a value of each type that the OpenAPI document names.
func components() []any {
	return []any{engine.Request{}, engine.Response{}, engine.Event{},
		engine.SandboxRequest{}, engine.BoxRequest{}, engine.SandboxInfo{},
		engine.Life{}, engine.ProcessRequest{}, engine.TerminalSize{}, engine.ProcessInfo{}, engine.ProcessOutput{},
		ring.Piece{}, ProcessList{}, ProcessEvent{}, Signal{},
		engine.SnapshotInfo{}, SnapshotList{},
		engine.File{}, engine.Size(0), engine.Seconds(0), engine.Mount{}, engine.ShareInfo{}, ShareList{},
		engine.ChangeSet{}, engine.ApplyRequest{}, engine.Applied{}, ChangeList{},
		engine.ImageInfo{}, ImageList{}, engine.Violation{}, denial.Denial{}, engine.Truncated{}, engine.Language{},
		engine.FileInfo{}, engine.TreeStats{},
		job.Refusal{}, nsjail.Usage{}, cgroup.LiveUsage{},
		SandboxList{}, RunList{}, live.Run{}, RunInfo{}, engine.Delivery{},
		front.QueueInfo{}, front.WorkerInfo{}, front.DeadRun{},
		FileList{}, PathAllowed{}, engine.Edit{}, Edited{}, engine.Found{}, engine.Line{}, engine.Notice{},
		PortList{}, engine.PortInfo{}, front.Link{},
		LanguageList{}, StdinTaken{}, Version{}, Health{}}
}

// SandboxList is the answer to GET /v1/sandboxes.
type SandboxList struct {
	Sandboxes []engine.SandboxInfo `json:"sandboxes"`
}

// SnapshotList is the answer to GET /v1/snapshots.
type SnapshotList struct {
	Snapshots []engine.SnapshotInfo `json:"snapshots"`
}

// RunList is the answer to GET /v1/sandboxes/{id}/runs.
type RunList struct {
	Runs []live.Run `json:"runs"`
}

// ProcessList is the answer to GET /v1/sandboxes/{id}/processes.
type ProcessList struct {
	Processes []engine.ProcessInfo `json:"processes"`
}

// ProcessEvent is a piece of a process's output, or its start or end.
type ProcessEvent struct {
	// Type is "start", "stdout", "stderr", "dropped" or "end".
	Type string `json:"type"`
	// Data is valid UTF-8: a character is never cut in two.
	Data string `json:"data,omitempty"`
	// Next is the offset behind it: a client that has lost the stream goes on from there.
	Next int64 `json:"next,omitempty"`
	// Dropped is how many bytes before were asked for and are not kept any more.
	Dropped int64 `json:"dropped,omitempty"`
	// Process is set in "start" and "end".
	Process *engine.ProcessInfo `json:"process,omitempty"`
}

// Signal is the body of POST /v1/sandboxes/{id}/processes/{name}/signal.
type Signal struct {
	// Signal is its name: HUP, INT, QUIT, KILL, USR1, USR2, TERM, CONT, STOP, TSTP or WINCH.
	Signal string `json:"signal"`
}

// FileList is the answer to GET /v1/sandboxes/{id}/files.
type FileList struct {
	Files []engine.FileInfo `json:"files"`
	// More is true if there are more than one answer lists.
	More bool `json:"more"`
}

// PathAllowed is the answer to GET /v1/sandboxes/{id}/allowed.
type PathAllowed struct {
	// Allowed is an answer for this moment: only the jail itself is a guard.
	Allowed bool `json:"allowed"`
}

// Edited is the answer to POST /v1/sandboxes/{id}/edit.
type Edited struct {
	// File describes the file after the change.
	File engine.FileInfo `json:"file"`
	// Replaced is how often the text was replaced.
	Replaced int `json:"replaced"`
}

// LanguageList is the answer to GET /v1/languages.
type LanguageList struct {
	Languages []engine.Language `json:"languages"`
}

// ImageList is the answer to GET /v1/images.
type ImageList struct {
	Images []engine.ImageInfo `json:"images"`
}

// ShareList is the answer to GET /v1/shares.
type ShareList struct {
	Shares []engine.ShareInfo `json:"shares"`
}

// ChangeList is the answer to GET /v1/changes.
type ChangeList struct {
	Changes []engine.ChangeSet `json:"changes"`
}

// StdinTaken is the answer to POST /v1/runs/{id}/stdin.
type StdinTaken struct {
	// Bytes is how many bytes of the body the run has taken.
	Bytes int64 `json:"bytes"`
}

// Version is the answer to GET /v1/version.
type Version struct {
	Version string `json:"version"`
	// API is the version of this interface: the first segment of its paths.
	API string `json:"api"`
	Go  string `json:"go"`
}

// Health is the answer to GET /healthz.
type Health struct {
	// Status is ok, or not_ready: it takes no runs, for example because it shuts down.
	Status string `json:"status"`
	Live   bool   `json:"live"`
	Ready  bool   `json:"ready"`
	// Details are for callers who may call the rest, too.
	Details map[string]string `json:"details,omitempty"`
}

package api

import (
	"log/slog"
	"net/http"
	"slices"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
	"brig/brigd/internal/live"
	"brig/brigd/job"
	"brig/cgroup"
	"brig/denial"
	"brig/nsjail"
)

// route is one operation of the interface. The router, the check of the query and the OpenAPI document use it.
type route struct {
	method, path string // {id} is a sandbox's or a run's; {path} the rest
	id           string // operationId, and the name in the log
	summary      string
	query        []param
	in           any        // a value of the JSON body's type; nil for no body
	bare         bool       // a request without a body asks for the defaults
	raw          string     // the media type of a body that is not JSON
	status       int        // of success
	out          any        // a value of the JSON answer's type; nil for none
	rawOut       string     // the media type of an answer that is not JSON
	events       bool       // the answer may also be a stream of engine.Event
	later        bool       // the answer may also be 202 and a RunInfo
	open         bool       // without authentication, also by TCP
	fails        []int      // the statuses of further refusals, besides usual
	level        slog.Level // of the line in the log
	// handle returns the JSON answer, unless it has written another.
	handle func(*call) (any, error)
}

// param is a parameter of the query.
type param struct {
	name, about string
	values      []string // the allowed ones; nil is any
}

// usual are the statuses of the refusals that every route can return.
var usual = []int{400, 401, 403, 404, 405, 421, 500, 503}

var yesNo = []string{"0", "1", "false", "true"}

// routes returns the list of all routes.
func routes() []route {
	boxes := sandboxRoutes()
	for i := range boxes { // the worker that has it may be lost
		boxes[i].fails = append(slices.Clip(boxes[i].fails), http.StatusGone)
	}
	return slices.Concat(runRoutes(), boxes, otherRoutes())
}

var (
	stdinParam = param{"stdin", "stream: the standard input follows by POST /v1/runs/{id}/stdin, after what the field " +
		"stdin says; only with a stream of events", []string{"stream"}}
	runFails = []int{406, 408, 409, 410, 413, 415, 422, 429, 501, 507}
)

func runRoutes() []route {
	return []route{
		{method: "POST", path: "/v1/run", id: "run",
			summary: "Run a program or a command, in a fresh jail or in a sandbox that the request names.",
			query:   []param{stdinParam}, in: engine.Request{}, status: 200, out: engine.Response{}, events: true,
			later: true, fails: runFails, handle: (*call).run},
		{method: "POST", path: "/v1/runs/{id}/stdin", id: "sendStdin",
			summary: "Send more of the standard input of a streamed run. The answer comes when the run has taken it.",
			query:   []param{{"eof", "1: this is the end of the input", yesNo}}, raw: binary, status: 200,
			out: StdinTaken{}, fails: []int{408, 409, 415}, handle: (*call).sendStdin},
		{method: "GET", path: "/v1/runs/{id}", id: "getRun",
			summary: "Report what a streamed run uses now, or where a run of the queue is, and its result.",
			status:  200, out: RunInfo{}, handle: (*call).getRun},
		{method: "DELETE", path: "/v1/runs/{id}", id: "cancelRun",
			summary: "Cancel a streamed run, or one of the queue. The answer comes when it has ended.", status: 204,
			handle: (*call).cancelRun},
	}
}

func sandboxRoutes() []route {
	file := "/v1/sandboxes/{id}/files/{path}"
	return []route{
		{method: "POST", path: "/v1/sandboxes", id: "createSandbox",
			summary: "Make a sandbox: /input, /work and /output, kept from run to run.",
			in:      engine.SandboxRequest{}, bare: true, status: 201, out: engine.SandboxInfo{},
			fails: []int{408, 409, 413, 415, 429, 507}, handle: (*call).createSandbox},
		{method: "GET", path: "/v1/sandboxes", id: "listSandboxes", summary: "List the agent's sandboxes.", status: 200,
			out: SandboxList{}, handle: (*call).listSandboxes},
		{method: "GET", path: "/v1/sandboxes/{id}", id: "getSandbox", summary: "Describe a sandbox.", status: 200,
			out: engine.SandboxInfo{}, handle: (*call).getSandbox},
		{method: "DELETE", path: "/v1/sandboxes/{id}", id: "deleteSandbox",
			summary: "End what runs in a sandbox, and remove it with its files.", status: 204, fails: []int{409},
			handle: (*call).deleteSandbox},
		{method: "POST", path: "/v1/sandboxes/{id}/snapshot", id: "createSnapshot",
			summary: "Keep the files of a sandbox as they are. Runs whose jails have a control group stand still meanwhile.",
			status:  201, out: engine.SnapshotInfo{}, fails: []int{409, 413, 429, 507}, handle: (*call).createSnapshot},
		{method: "GET", path: "/v1/snapshots", id: "listSnapshots", summary: "List the agent's snapshots.", status: 200,
			out: SnapshotList{}, handle: (*call).listSnapshots},
		{method: "DELETE", path: "/v1/snapshots/{id}", id: "deleteSnapshot",
			summary: "Delete a snapshot. Sandboxes that were made from it stay.", status: 204, handle: (*call).deleteSnapshot},
		{method: "POST", path: "/v1/sandboxes/{id}/exec", id: "exec", summary: "Run a program or a command in a sandbox.",
			query: []param{stdinParam}, in: engine.Request{}, status: 200, out: engine.Response{}, events: true,
			fails: runFails, handle: (*call).run},
		{method: "GET", path: "/v1/sandboxes/{id}/runs", id: "listRuns",
			summary: "List the runs in a sandbox, and what they use now.",
			status:  200, out: RunList{}, handle: (*call).listRuns},
		{method: "GET", path: "/v1/sandboxes/{id}/files", id: "listFiles",
			summary: "List a directory of a sandbox, by default /work.",
			query: []param{{"path", "the directory, absolute or below /work", nil},
				{"recursive", "1: everything below it", yesNo},
				{"after", "only what comes behind this path, in bytes: the last of an answer with more; " +
					"not with recursive", nil}},
			status: 200, out: FileList{}, fails: []int{409}, handle: (*call).listFiles},
		{method: "GET", path: "/v1/sandboxes/{id}/allowed", id: "pathAllowed",
			summary: "Say whether a run in the sandbox could read a path, or write it, as the kernel would answer there.",
			query:   []param{{"path", "the path, absolute or below /work", nil}, {"write", "1: write it", yesNo}},
			status:  200, out: PathAllowed{}, fails: []int{409}, handle: (*call).pathAllowed},
		{method: "PUT", path: file, id: "putFile",
			summary: "Write a file of a sandbox. The path is the file's absolute path in the jail: files/work/a.txt is " +
				"/work/a.txt.",
			query: []param{{"mode", "the file's permissions in octal, such as 755; 644 if left out", nil}},
			raw:   binary, status: 200, out: engine.FileInfo{}, fails: []int{408, 409, 413, 415, 507},
			handle: (*call).putFile},
		{method: "GET", path: file, id: "getFile", summary: "Read a file of a sandbox.", status: 200, rawOut: binary,
			fails: []int{409, 413}, handle: (*call).getFile},
		{method: "PUT", path: "/v1/sandboxes/{id}/tree", id: "putTree",
			summary: "Write the files of a tar archive below a directory of a sandbox. They keep their permissions.",
			query:   []param{treePath}, raw: tarType, status: 200, out: engine.TreeStats{},
			fails: []int{408, 409, 413, 415, 507}, handle: (*call).putTree},
		{method: "GET", path: "/v1/sandboxes/{id}/tree", id: "getTree",
			summary: "Read all files below a directory of a sandbox as a tar archive.",
			query:   []param{treePath}, status: 200, rawOut: tarType, fails: []int{409, 413}, handle: (*call).getTree},
		{method: "DELETE", path: file, id: "deleteFile",
			summary: "Remove a file of a sandbox, or a directory with everything in it.", status: 204, fails: []int{409},
			handle: (*call).deleteFile},
	}
}

var treePath = param{"path", "the directory, absolute or below /work; /work if left out", nil}

func otherRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/languages", id: "languages", summary: "List the languages that work here.", status: 200,
			out: LanguageList{}, handle: (*call).languages},
		{method: "GET", path: "/v1/images", id: "images",
			summary: "List the images that you may name as the root of a run, with the languages in each.", status: 200,
			out: ImageList{}, handle: (*call).images},
		{method: "GET", path: "/v1/shares", id: "shares",
			summary: "List the directories of the operator's that you may mount, each with the highest mode.", status: 200,
			out: ShareList{}, handle: (*call).shares},
		{method: "GET", path: "/v1/changes", id: "changes",
			summary: "List your change sets, the newest first: what runs have changed in shares of mode cow.", status: 200,
			out: ChangeList{}, handle: (*call).changes},
		{method: "GET", path: "/v1/changes/{id}/diff", id: "diffChanges",
			summary: "Show a change set as git diff does.",
			query:   []param{{"path", "only this file or directory", nil}}, status: 200, rawOut: "text/plain",
			fails: []int{409, 413}, handle: (*call).diffChanges},
		{method: "POST", path: "/v1/changes/{id}/apply", id: "applyChanges",
			summary: "Change the share as the run has changed its copy; only if the operator allows it. Nothing changes if " +
				"a file of the share is not as the run has seen it.",
			in: engine.ApplyRequest{}, bare: true, status: 200, out: engine.Applied{}, fails: []int{408, 409, 413, 415},
			handle: (*call).applyChanges},
		{method: "DELETE", path: "/v1/changes/{id}", id: "discardChanges",
			summary: "Remove a change set; only if the operator allows it.", status: 204, fails: []int{409},
			handle: (*call).discardChanges},
		{method: "GET", path: "/v1/queue", id: "queue",
			summary: "Describe the durable queue, its workers, and the runs that were given up; for the operator.",
			status:  200, out: front.QueueInfo{}, handle: (*call).queueInfo},
		{method: "POST", path: "/v1/queue/{id}/requeue", id: "requeue",
			summary: "Let a run begin again that was given up; for the operator.", status: 204, handle: (*call).requeue},
		{method: "GET", path: "/v1/version", id: "version", summary: "Say which brigd this is.", status: 200,
			out: Version{}, handle: (*call).version},
		{method: "GET", path: "/healthz", id: "health",
			summary: "Say whether brigd lives, and takes runs: 503 if it does not take any. Without authentication there " +
				"are no details.",
			query: []param{{"probe", "live: only whether it lives", []string{"live", "ready"}}}, status: 200,
			out: Health{}, open: true, level: slog.LevelDebug, handle: (*call).health},
		{method: "GET", path: "/metrics", id: "metrics", summary: "Metrics in Prometheus' text format.", status: 200,
			rawOut: "text/plain", level: slog.LevelDebug, handle: (*call).metrics},
		{method: "GET", path: "/openapi.json", id: "openapi", summary: "This document.", status: 200,
			rawOut: "application/json", handle: (*call).description},
	}
}

const (
	binary  = "application/octet-stream"
	tarType = "application/x-tar"
)

// components returns a value of each type that the OpenAPI document names.
func components() []any {
	return []any{engine.Request{}, engine.Response{}, engine.Event{}, engine.SandboxRequest{}, engine.SandboxInfo{},
		engine.SnapshotInfo{}, SnapshotList{},
		engine.File{}, engine.Size(0), engine.Seconds(0), engine.Mount{}, engine.ShareInfo{}, ShareList{},
		engine.ChangeSet{}, engine.ApplyRequest{}, engine.Applied{}, ChangeList{},
		engine.ImageInfo{}, ImageList{}, engine.Violation{}, denial.Denial{}, engine.Truncated{}, engine.Language{},
		engine.FileInfo{}, engine.TreeStats{},
		job.Refusal{}, nsjail.Usage{}, cgroup.LiveUsage{},
		SandboxList{}, RunList{}, live.Run{}, RunInfo{}, engine.Delivery{},
		front.QueueInfo{}, front.WorkerInfo{}, front.DeadRun{},
		FileList{}, PathAllowed{}, LanguageList{}, StdinTaken{}, Version{}, Health{}}
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

package api

import (
	"log/slog"
	"net/http"
	"slices"

	"brig/brigd/engine"
	"brig/brigd/internal/front"
)

// usual are the statuses of the refusals that every route can return.
var usual = []int{400, 401, 403, 404, 405, 421, 500, 503}

var yesNo = []string{"0", "1", "false", "true"}

// routes returns the list of all routes, with the handlers that answer them.
func routes(h *handlers) []route {
	boxes := slices.Concat(sandboxRoutes(h), processRoutes(&h.processes), toolRoutes(&h.tools),
		searchRoutes(&h.search), portRoutes(&h.ports))
	for i := range boxes { // the worker that has it may be lost
		boxes[i].fails = append(slices.Clip(boxes[i].fails), http.StatusGone)
	}
	return slices.Concat(runRoutes(h), boxes, otherRoutes(h))
}

var (
	stdinParam = param{"stdin", "stream: the standard input follows by POST /v1/runs/{id}/stdin, after what the field " +
		"stdin says; only with a stream of events", []string{"stream"}}
	runFails = []int{406, 408, 409, 410, 413, 415, 422, 429, 501, 507}
)

func runRoutes(h *handlers) []route {
	return []route{
		{method: "POST", path: "/v1/run", id: "run",
			summary: "Run a program or a command, in a fresh jail or in a sandbox that the request names.",
			query:   []param{stdinParam}, in: engine.Request{}, status: 200, out: engine.Response{}, events: true,
			later: true, fails: runFails, handle: h.runs.run},
		{method: "POST", path: "/v1/runs/{id}/stdin", id: "sendStdin",
			summary: "Send more of the standard input of a streamed run. The answer comes when the run has taken it.",
			query:   []param{{"eof", "1: this is the end of the input", yesNo}}, raw: binary, status: 200,
			out: StdinTaken{}, fails: []int{408, 409, 415}, handle: h.runs.sendStdin},
		{method: "GET", path: "/v1/runs/{id}", id: "getRun",
			summary: "Report what a streamed run uses now, or where a run of the queue is, and its result.",
			status:  200, out: RunInfo{}, handle: h.runs.get},
		{method: "DELETE", path: "/v1/runs/{id}", id: "cancelRun",
			summary: "Cancel a streamed run, or one of the queue. The answer comes when it has ended.", status: 204,
			handle: h.runs.cancel},
	}
}

func sandboxRoutes(h *handlers) []route {
	file := "/v1/sandboxes/{id}/files/{path}"
	return []route{
		{method: "POST", path: "/v1/sandboxes", id: "createSandbox",
			summary: "Make a sandbox: /input, /work and /output, kept from run to run.",
			in:      engine.SandboxRequest{}, bare: true, status: 201, out: engine.SandboxInfo{},
			fails: []int{408, 409, 413, 415, 429, 507}, handle: h.boxes.create},
		{method: "GET", path: "/v1/sandboxes", id: "listSandboxes", summary: "List the agent's sandboxes.", status: 200,
			out: SandboxList{}, handle: h.boxes.list},
		{method: "GET", path: "/v1/sandboxes/{id}", id: "getSandbox", summary: "Describe a sandbox.", status: 200,
			out: engine.SandboxInfo{}, handle: h.boxes.get},
		{method: "DELETE", path: "/v1/sandboxes/{id}", id: "deleteSandbox",
			summary: "End what runs in a sandbox, and remove it with its files.", status: 204, fails: []int{409},
			handle: h.boxes.remove},
		{method: "POST", path: "/v1/sandboxes/{id}/snapshot", id: "createSnapshot",
			summary: "Keep the files of a sandbox as they are. Runs whose jails have a control group stand still meanwhile.",
			status:  201, out: engine.SnapshotInfo{}, fails: []int{409, 413, 429, 507}, handle: h.snapshots.create},
		{method: "GET", path: "/v1/snapshots", id: "listSnapshots", summary: "List the agent's snapshots.", status: 200,
			out: SnapshotList{}, handle: h.snapshots.list},
		{method: "DELETE", path: "/v1/snapshots/{id}", id: "deleteSnapshot",
			summary: "Delete a snapshot. Sandboxes that were made from it stay.", status: 204, handle: h.snapshots.remove},
		{method: "POST", path: "/v1/sandboxes/{id}/exec", id: "exec", summary: "Run a program or a command in a sandbox.",
			query: []param{stdinParam}, in: engine.Request{}, status: 200, out: engine.Response{}, events: true,
			fails: runFails, handle: h.runs.run},
		{method: "GET", path: "/v1/sandboxes/{id}/runs", id: "listRuns",
			summary: "List the runs in a sandbox, and what they use now.",
			status:  200, out: RunList{}, handle: h.boxes.runs},
		{method: "GET", path: "/v1/sandboxes/{id}/files", id: "listFiles",
			summary: "List a directory of a sandbox, by default /work.",
			query: []param{{"path", "the directory, absolute or below /work", nil},
				{"recursive", "1: everything below it", yesNo},
				{"after", "only what comes behind this path, in bytes: the last of an answer with more; " +
					"not with recursive", nil}},
			status: 200, out: FileList{}, fails: []int{409}, handle: h.files.list},
		{method: "GET", path: "/v1/sandboxes/{id}/allowed", id: "pathAllowed",
			summary: "Say whether a run in the sandbox could read a path, or write it, as the kernel would answer there.",
			query:   []param{{"path", "the path, absolute or below /work", nil}, {"write", "1: write it", yesNo}},
			status:  200, out: PathAllowed{}, fails: []int{409}, handle: h.files.allowed},
		{method: "PUT", path: file, id: "putFile",
			summary: "Write a file of a sandbox. The path is the file's absolute path in the jail: files/work/a.txt is " +
				"/work/a.txt.",
			query: []param{{"mode", "the file's permissions in octal, such as 755; 644 if left out", nil}},
			raw:   binary, status: 200, out: engine.FileInfo{}, fails: []int{408, 409, 413, 415, 507},
			handle: h.files.put},
		{method: "GET", path: file, id: "getFile", summary: "Read a file of a sandbox.", status: 200, rawOut: binary,
			fails: []int{409, 413}, handle: h.files.get},
		{method: "PUT", path: "/v1/sandboxes/{id}/tree", id: "putTree",
			summary: "Write the files of a tar archive below a directory of a sandbox. They keep their permissions.",
			query:   []param{treePath}, raw: tarType, status: 200, out: engine.TreeStats{},
			fails: []int{408, 409, 413, 415, 507}, handle: h.files.putTree},
		{method: "GET", path: "/v1/sandboxes/{id}/tree", id: "getTree",
			summary: "Read all files below a directory of a sandbox as a tar archive.",
			query:   []param{treePath}, status: 200, rawOut: tarType, fails: []int{409, 413}, handle: h.files.getTree},
		{method: "DELETE", path: file, id: "deleteFile",
			summary: "Remove a file of a sandbox, or a directory with everything in it.", status: 204, fails: []int{409},
			handle: h.files.remove},
	}
}

var treePath = param{"path", "the directory, absolute or below /work; /work if left out", nil}

func otherRoutes(h *handlers) []route {
	return []route{
		{method: "GET", path: "/v1/languages", id: "languages", summary: "List the languages that work here.", status: 200,
			out: LanguageList{}, handle: h.offers.languages},
		{method: "GET", path: "/v1/images", id: "images",
			summary: "List the images that you may name as the root of a run, with the languages in each.", status: 200,
			out: ImageList{}, handle: h.offers.images},
		{method: "GET", path: "/v1/shares", id: "shares",
			summary: "List the directories of the operator's that you may mount, each with the highest mode.", status: 200,
			out: ShareList{}, handle: h.offers.shares},
		{method: "GET", path: "/v1/changes", id: "changes",
			summary: "List your change sets, the newest first: what runs have changed in shares of mode cow.", status: 200,
			out: ChangeList{}, handle: h.changes.list},
		{method: "GET", path: "/v1/changes/{id}/diff", id: "diffChanges",
			summary: "Show a change set as git diff does.",
			query:   []param{{"path", "only this file or directory", nil}}, status: 200, rawOut: "text/plain",
			fails: []int{409, 413, 429}, handle: h.changes.diff},
		{method: "POST", path: "/v1/changes/{id}/apply", id: "applyChanges",
			summary: "Change the share as the run has changed its copy; only if the operator allows it. Nothing changes if " +
				"a file of the share is not as the run has seen it.",
			in: engine.ApplyRequest{}, bare: true, status: 200, out: engine.Applied{}, fails: []int{408, 409, 413, 415},
			handle: h.changes.apply},
		{method: "DELETE", path: "/v1/changes/{id}", id: "discardChanges",
			summary: "Remove a change set; only if the operator allows it.", status: 204, fails: []int{409},
			handle: h.changes.discard},
		{method: "GET", path: "/v1/queue", id: "queue",
			summary: "Describe the durable queue, its workers, and the runs that were given up; for the operator.",
			status:  200, out: front.QueueInfo{}, handle: h.queue.info},
		{method: "POST", path: "/v1/queue/{id}/requeue", id: "requeue",
			summary: "Let a run begin again that was given up; for the operator.", status: 204, handle: h.queue.requeue},
		{method: "GET", path: "/v1/version", id: "version", summary: "Say which brigd this is.", status: 200,
			out: Version{}, handle: h.meta.version},
		{method: "GET", path: "/healthz", id: "health",
			summary: "Say whether brigd lives, and takes runs: 503 if it does not take any. Without authentication there " +
				"are no details.",
			query: []param{{"probe", "live: only whether it lives", []string{"live", "ready"}}}, status: 200,
			out: Health{}, open: true, level: slog.LevelDebug, handle: h.meta.health},
		{method: "GET", path: "/metrics", id: "metrics", summary: "Metrics in Prometheus' text format.", status: 200,
			rawOut: "text/plain", level: slog.LevelDebug, handle: h.meta.metrics},
		{method: "GET", path: "/openapi.json", id: "openapi", summary: "This document.", status: 200,
			rawOut: "application/json", handle: h.meta.description},
	}
}

package api

import "brig/brigd/engine"

func processRoutes(h *processHandlers) []route {
	all, one := "/v1/sandboxes/{id}/processes", "/v1/sandboxes/{id}/processes/{name}"
	fails := []int{408, 409, 413, 415, 429}
	return []route{
		{method: "POST", path: all, id: "startProcess",
			summary: "Start a process in a living sandbox. The answer comes when it runs, or is the stream of its output.",
			in:      engine.ProcessRequest{}, status: 201, out: engine.ProcessInfo{}, events: true, eventOf: ProcessEvent{},
			fails: append([]int{406, 422}, fails...), handle: h.start},
		{method: "GET", path: all, id: "listProcesses",
			summary: "List the processes of a living sandbox that calls have started, those that have ended lately, too.",
			status:  200, out: ProcessList{}, fails: []int{409}, handle: h.list},
		{method: "GET", path: one, id: "getProcess", summary: "Describe a process.", status: 200,
			out: engine.ProcessInfo{}, fails: []int{409}, handle: h.get},
		{method: "DELETE", path: one, id: "deleteProcess",
			summary: "End a process and what it has started in its session, and forget its output.", status: 204,
			fails: []int{409}, handle: h.remove},
		{method: "GET", path: one + "/output", id: "processOutput",
			summary: "Read what a process has written: from an offset on, or as a stream until it ends.",
			query: []param{{"offset", "where to begin: next of an earlier answer; the first byte that is kept if left out", nil},
				{"wait", "how long to wait for output, as in 30s, at most 1m; not if left out", nil}},
			status: 200, out: engine.ProcessOutput{}, events: true, eventOf: ProcessEvent{}, fails: []int{406, 409},
			handle: h.output},
		{method: "POST", path: one + "/stdin", id: "processInput",
			summary: "Send input to a process. The answer comes when the process has taken it.",
			query:   []param{{"eof", "1: this is the end of the input; of a terminal, Ctrl-D", yesNo}}, raw: binary, status: 200,
			out: StdinTaken{}, fails: fails, handle: h.stdin},
		{method: "POST", path: one + "/signal", id: "signalProcess",
			summary: "Send a signal to a process. KILL ends what it has started in its session, too.", in: Signal{},
			status: 204, fails: fails, handle: h.signal},
		{method: "POST", path: one + "/resize", id: "resizeProcess", summary: "Change the size of the terminal of a process.",
			in: engine.TerminalSize{}, status: 204, fails: fails, handle: h.resize},
		{method: "POST", path: "/v1/sandboxes/{id}/live", id: "liveSandbox",
			summary: "Make a sandbox a living one, with its files as they are; or again, if its box has ended. From then on " +
				"it is in memory only.",
			in: engine.BoxRequest{}, bare: true, status: 200, out: engine.SandboxInfo{},
			fails: []int{408, 409, 413, 415, 422, 429, 507}, handle: h.live},
		{method: "POST", path: "/v1/sandboxes/{id}/freeze", id: "freezeSandbox",
			summary: "Stop the processes of a living sandbox until the next call that uses one.", status: 204, fails: []int{409},
			handle: h.freeze},
		{method: "POST", path: "/v1/sandboxes/{id}/thaw", id: "thawSandbox",
			summary: "Let the processes of a frozen sandbox go on.", status: 204, fails: []int{409}, handle: h.thaw},
	}
}

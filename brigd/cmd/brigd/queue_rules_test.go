package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"brig/internal/test/long"
	"brig/internal/test/must"
)

// ruled is the policy and the ceilings of a brigd, which must hold wherever a run goes on.
func ruled(t *testing.T, share string) []string {
	t.Helper()
	policy := file(t, dir(t)+"/p.json", `{"name":"words","languages":["sh"],"commands":["sh","echo","cat"],"shares":["*"],
		"environment":{"set":["*"]},"inputs":{"file_bytes":"1k"},"sandbox":{"operations":["create","put","get","list"]}}`)
	return []string{"--policy", policy, "--timeout", "300ms", "--max-timeout", "400ms", "--max-output", "100",
		"--share", "s=" + share + ":ro", "--sandbox-max-size", "1m", "--sandbox-size", "1m", "--sandboxes-per-agent", "2"}
}

// What a brigd demands of runs holds without a queue, with a queue of its own and at other workers, for runs, streams,
// sandboxes and their files.
func TestRulesReachTheWorker(t *testing.T) {
	long.Again(t)
	share := dir(t)
	must.Do(t, os.Chmod(share, 0o777))
	at := urls(cluster(t, 1))
	startWorker(t, at, "--share", "s="+share+":rw", "--share", "t="+dir(t)+":ro", "--running", "4")
	for name, args := range map[string][]string{"alone": nil, "own": {"--jetstream", dir(t) + "/q"}, "front": {"--jetstream", at}} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, nil, append(append([]string{"serve", "--listen", "unix:" + dir(t) + "/s"}, ruled(t, share)...), args...)...)
			box, _ := p.sandbox(map[string]any{})
			mount := func(share, mode string) map[string]any {
				return map[string]any{"share": share, "target": "/data", "mode": mode}
			}
			python := map[string]any{"language": "python", "code": "print('python')"}
			for _, path := range []string{"/v1/run", box + "/exec"} {
				for _, header := range [][]string{nil, {"Accept", "application/x-ndjson"}} {
					if status, a := p.do("POST", path, python, header...); status != 403 || a["code"] != "language_not_allowed" {
						t.Errorf("%s %v: %d %v", path, header, status, a)
					}
				}
				status, a := p.do("POST", path, map[string]any{"language": "sh", "code": "true", "timeout": 60})
				if status != 200 || !strings.Contains(fmt.Sprint(a["narrowed"]), "lowered from 1m0s to 400ms") {
					t.Errorf("%s: %d %v", path, status, a)
				}
				status, a = p.do("POST", path, map[string]any{"language": "sh", "code": "while :; do :; done"})
				if status != 200 || a["timed_out"] != true {
					t.Errorf("%s: %d %v", path, status, a)
				}
				status, a = p.do("POST", path, map[string]any{"cmd": []string{"echo", strings.Repeat("x", 300)}})
				if status != 200 || a["truncated"] == nil {
					t.Errorf("%s: %d %v", path, status, a)
				}
				for _, m := range []map[string]any{mount("s", "rw"), mount("t", "")} {
					status, a = p.do("POST", path, map[string]any{"cmd": []string{"echo"}, "mounts": []any{m}})
					if status != 403 || a["code"] != "share_not_allowed" {
						t.Errorf("%s with %v: %d %v", path, m, status, a)
					}
				}
				status, a = p.do("POST", path, map[string]any{"language": "sh", "code": "echo > /data/x", "mounts": []any{mount("s", "")}})
				if status != 200 || a["exit_code"] == 0.0 || fmt.Sprint(a["mounts"]) == "[]" {
					t.Errorf("%s: %d %v", path, status, a)
				}
			}
			if status, a := p.do("PUT", box+"/files/work/f", strings.Repeat("x", 2000)); status != 413 && status != 403 {
				t.Errorf("a large file: %d %v", status, a)
			}
			if status, a := p.do("DELETE", box, nil); status != 403 {
				t.Errorf("an operation that is not allowed: %d %v", status, a)
			}
			if status, a := p.do("POST", "/v1/sandboxes", map[string]any{"disk": "2m"}); status != 400 {
				t.Errorf("a large sandbox: %d %v", status, a)
			}
			p.sandbox(map[string]any{})
			if status, a := p.do("POST", "/v1/sandboxes", map[string]any{}); status != 429 {
				t.Errorf("a third sandbox: %d %v", status, a)
			}
		})
	}

	cmd := exec.Command(brigd(t), append([]string{"mcp", "--agent", "model", "--jetstream", at}, ruled(t, share)...)...)
	in, out := must.Get(cmd.StdinPipe())(t), must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	must.Get(io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"print(1)"}}}
`))(t)
	for answers := bufio.NewScanner(out); answers.Scan(); {
		if strings.Contains(answers.Text(), `"id":2`) {
			if !strings.Contains(answers.Text(), "language_not_allowed") {
				t.Errorf("MCP: %s", answers.Text())
			}
			return
		}
	}
	t.Error("MCP does not answer")
}

// A run does not begin with another Spec than the brigd demands that has taken it.
func TestSpecIsDemanded(t *testing.T) {
	once(t)
	at := urls(cluster(t, 1))
	spec := file(t, dir(t)+"/spec", `{"hostname":"other"}`)
	startWorker(t, at, "--running", "2")
	p := begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s", "--jetstream", at, "--spec", spec)
	if status, a := p.run("hostname"); status != 403 || a["code"] != "spec_differs" {
		t.Errorf("%d %v", status, a)
	}
	if status, a := p.do("POST", "/v1/sandboxes", map[string]any{}); status != 201 {
		t.Errorf("%d %v", status, a)
	}
}

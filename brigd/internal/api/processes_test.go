package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"brig/brigd/engine"
	"brig/internal/test/must"
)

// processEvents reads a stream of a process.
func (g *rig) processEvents(text []byte) (list []ProcessEvent) {
	g.Helper()
	for s := bufio.NewScanner(strings.NewReader(string(text))); s.Scan(); {
		var e ProcessEvent
		must.Do(g.T, json.Unmarshal(s.Bytes(), &e))
		list = append(list, e)
	}
	return list
}

// A living sandbox by HTTP: a process is started, named, written to, read from an offset, resized, signalled and ended.
func TestRealProcesses(t *testing.T) {
	g := newReal(t)
	var box engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", `{"living":true,"env":{"A":"b"}}`).into(t, &box)
	at := "/v1/sandboxes/" + box.ID
	if box.Living == nil || box.Living.State != "running" {
		t.Fatalf("%+v", box)
	}
	var p, same engine.ProcessInfo
	r := g.do(201, "POST", at+"/processes", `{"shell":"echo $A; cat; exit 4","stdin":true,"tag":"cat"}`)
	if r.into(t, &p); r.Header.Get("Location") != at+"/processes/"+p.ID || r.Header.Get("X-Run-Id") != p.ID {
		t.Error(r.Header)
	}
	for _, name := range []string{"cat", p.ID, fmt.Sprint(p.PID)} {
		if g.do(200, "GET", at+"/processes/"+name, "").into(t, &same); same.ID != p.ID || !same.Running {
			t.Errorf("%s: %+v", name, same)
		}
	}
	g.refused(409, "tag_in_use", "POST", at+"/processes", `{"cmd":["true"],"tag":"cat"}`)
	var taken StdinTaken
	g.do(200, "POST", at+"/processes/cat/stdin", "hello\n", "Content-Type", binary).into(t, &taken)
	var out engine.ProcessOutput
	for said := ""; said != "b\nhello\n"; {
		g.do(200, "GET", at+fmt.Sprintf("/processes/cat/output?offset=%d&wait=20s", out.Next), "").into(t, &out)
		for _, o := range out.Output {
			said += o.Data
		}
	}
	if taken.Bytes != 6 || out.Next != 8 || !out.Running {
		t.Error(taken, out)
	}
	g.do(200, "POST", at+"/processes/cat/stdin?eof=1", "", "Content-Type", binary)
	list := g.processEvents(g.do(200, "GET", at+"/processes/cat/output?offset=2", "", "Accept", ndjsonType).text)
	if end := list[len(list)-1]; len(list) != 3 || list[1].Data != "hello\n" || end.Type != "end" ||
		end.Process.Result.ExitCode != 4 {
		t.Errorf("%+v", list)
	}
	g.refused(409, "already_living", "POST", at+"/live", "")
	g.refused(409, "stdin_closed", "POST", at+"/processes/cat/stdin", "x", "Content-Type", binary)
	g.do(200, "POST", at+"/exec", `{"cmd":["true"]}`)

	g.do(201, "POST", at+"/processes", `{"cmd":["sleep","1000"],"tag":"s","tty":{"rows":20,"cols":60}}`)
	g.do(204, "POST", at+"/processes/s/resize", `{"rows":30,"cols":90}`)
	g.refused(400, "bad_size", "POST", at+"/processes/s/resize", `{"rows":0,"cols":90}`)
	g.refused(400, "bad_signal", "POST", at+"/processes/s/signal", `{"signal":"RTMIN"}`)
	var plain engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", "").into(t, &plain)
	if plain.Living != nil {
		t.Errorf("%+v", plain.Living)
	}
	g.refused(400, "unknown_field", "POST", "/v1/sandboxes/"+plain.ID+"/live", `{"ttl":1}`)
	g.do(200, "POST", "/v1/sandboxes/"+plain.ID+"/live", `{"env":{"A":"c"}}`).into(t, &plain)
	g.do(201, "POST", "/v1/sandboxes/"+plain.ID+"/processes", `{"cmd":["sleep","1000"]}`)
	if plain.Living == nil || plain.Living.State != "running" {
		t.Errorf("%+v", plain.Living)
	}
	g.do(204, "POST", at+"/freeze", "")
	if g.do(200, "GET", at, "").into(t, &box); box.Living.State != "frozen" || box.Living.Processes != 1 {
		t.Errorf("%+v", box.Living)
	}
	g.do(204, "POST", at+"/thaw", "")
	g.do(204, "POST", at+"/processes/s/signal", `{"signal":"TERM"}`)
	list = g.processEvents(g.do(200, "GET", at+"/processes/s/output", "", "Accept", ndjsonType).text)
	if end := list[len(list)-1]; end.Process.Result.Signal != "SIGTERM" {
		t.Errorf("%+v", list)
	}
	var all ProcessList
	if g.do(200, "GET", at+"/processes", "").into(t, &all); len(all.Processes) != 2 || all.Processes[0].Tag != "cat" {
		t.Errorf("%+v", all)
	}
	g.do(204, "DELETE", at+"/processes/s", "")
	g.refused(404, "process_unknown", "GET", at+"/processes/s", "")
	list = g.processEvents(g.do(201, "POST", at+"/processes", `{"cmd":["sh","-c","echo err >&2"]}`, "Accept", ndjsonType).text)
	if len(list) != 3 || list[0].Type != "start" || list[0].Process.PID == 0 || list[1].Type != "stderr" {
		t.Errorf("%+v", list)
	}
	g.refused(422, "command_not_runnable", "POST", at+"/processes", `{"cmd":["/nonexistent"]}`)
	g.refused(400, "of_the_box", "POST", at+"/exec", `{"cmd":["true"],"memory":"1m"}`)
	g.do(204, "DELETE", at, "")
	g.refused(404, "not_found", "GET", at+"/processes", "")
	at = g.newBox()
	g.refused(409, "not_living", "POST", at+"/processes", `{"cmd":["true"]}`)
	g.refused(400, "not_living", "POST", "/v1/sandboxes", `{"image":"x"}`)
}

// A process that is not detached ends with the stream that its client reads; another one goes on.
func TestRealDetached(t *testing.T) {
	g := newReal(t)
	var box engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", `{"living":true}`).into(t, &box)
	at := "/v1/sandboxes/" + box.ID
	for tag, detached := range map[string]string{"ends": "false", "stays": "true"} {
		r := g.request("POST", at+"/processes", `{"shell":"echo up; sleep 1000","tag":"`+tag+`","detached":`+detached+`}`,
			"Accept", ndjsonType)
		resp := must.Get(g.client.Do(r))(t)
		must.Get(bufio.NewReader(resp.Body).ReadString('\n'))(t)
		must.Do(t, resp.Body.Close())
	}
	var out engine.ProcessOutput
	for out.Running = true; out.Running; {
		g.do(200, "GET", at+fmt.Sprintf("/processes/ends/output?wait=20s&offset=%d", out.Next), "").into(t, &out)
	}
	if out.Result.Status != "cancelled" {
		t.Errorf("%+v", out.Result)
	}
	var p engine.ProcessInfo
	if g.do(200, "GET", at+"/processes/stays", "").into(t, &p); !p.Running {
		t.Errorf("%+v", p)
	}
}

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/brigd/engine"
	"brig/brigd/internal/live"
	"brig/internal/test/asuser"
	"brig/internal/test/long"
	"brig/internal/test/must"
)

// TestMain runs everything as it was started, and what makes jails, TestReal, once more as an ordinary user.
func TestMain(m *testing.M) {
	asuser.SecondOnly("^TestReal")
	os.Exit(asuser.Main(m, func(dir string) error {
		if err := os.CopyFS(filepath.Join(dir, "python"), os.DirFS("../../../clients/python")); err != nil {
			return err
		}
		text, err := os.ReadFile(committed)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "openapi.json"), text, 0o644)
	}))
}

// outcome is of an engine.Response what these tests look at; nsjail.Millis has no way back from JSON.
type outcome struct {
	Status    string            `json:"status"`
	Stdout    string            `json:"stdout"`
	TimedOut  bool              `json:"timed_out"`
	Truncated *engine.Truncated `json:"truncated"`
}

// newReal is a rig around an engine that makes jails.
func newReal(t *testing.T) *rig {
	t.Helper()
	table := &live.Table{}
	e := must.Get(engine.New(engine.Options{Wrap: table.Wrap}))(t)
	g := newRig(t, Options{Engine: e, Live: table, Version: "test"})
	t.Cleanup(func() { must.Do(t, e.Close()) })
	return g
}

func TestRealRuns(t *testing.T) {
	g := newReal(t)
	for _, c := range []struct{ body, status, stdout string }{
		{`{"language":"python","code":"import sys; print(6*7, sys.argv[1], open('/input/d/f').read())","args":["ü"],"files":{"d/f":"text"}}`, "ok", "42 ü text\n"},
		{`{"cmd":["sh","-c","cat; exit 3"],"stdin":"in"}`, "failed", "in"},
		{`{"cmd":["sh","-c","kill -SEGV $$"]}`, "signal", ""},
		{`{"cmd":["sleep","100"],"timeout":0.3}`, "timeout", ""},
		{`{"cmd":["sh","-c","/input/x; echo $A $S"],"files":{"x":{"base64":"IyEvYmluL3NoCmVjaG8gZm91bmQK","executable":true}},"env":{"A":"a"},"secrets":{"S":"hunter22"}}`, "ok", "found\na ***\n"},
		{`{"cmd":["printf","\\033[1mb\\377"],"strip_ansi":true}`, "ok", "b\ufffd"},
		{`{"cmd":["sh","-c","head -c 200000 /dev/zero | tr '\\0' x"],"max_output":"1k"}`, "ok", ""},
	} {
		var resp outcome
		g.do(200, "POST", "/v1/run", c.body).into(t, &resp)
		if resp.Status != c.status || c.stdout != "" && resp.Stdout != c.stdout || resp.TimedOut != (c.status == "timeout") {
			t.Errorf("%s: %+v", c.body, resp)
		}
		if strings.Contains(c.body, "max_output") && (resp.Truncated == nil || len(resp.Stdout) > 2000) {
			t.Errorf("%+v", resp)
		}
	}
	for _, c := range []struct {
		status     int
		code, body string
	}{
		{400, "nothing_to_run", `{}`}, {400, "code_and_cmd", `{"cmd":["id"],"language":"python","code":"1"}`},
		{400, "language_unknown", `{"language":"klingon","code":"1"}`},
		{404, "not_found", `{"cmd":["id"],"sandbox":"sb_x"}`}, {400, "bad_file_name", `{"cmd":["id"],"files":{"../x":"a"}}`},
		{400, "bad_network_rule", `{"cmd":["id"],"network":["http://"]}`},
		{422, "command_not_runnable", `{"cmd":["/nonexistent"]}`},
	} {
		g.refused(c.status, c.code, "POST", "/v1/run", c.body)
	}
	var langs LanguageList
	g.do(200, "GET", "/v1/languages", "").into(t, &langs)
	if !strings.Contains(fmt.Sprint(langs), "python") {
		t.Errorf("%+v", langs)
	}
}

func TestRealStreams(t *testing.T) {
	g := newReal(t)
	r := g.do(200, "POST", "/v1/run", `{"cmd":["sh","-c","echo out; echo err >&2; exit 2"]}`, "Accept", ndjsonType)
	said := map[any]string{}
	list := g.events(r.text)
	for _, e := range list {
		said[e["type"]] += fmt.Sprint(e["data"])
	}
	end, _ := json.Marshal(list[len(list)-1])
	if said["stdout"] != "out\n" || said["stderr"] != "err\n" || !strings.Contains(string(end), `"exit_code":2`) {
		t.Errorf("%s", r.text)
	}
	g.refused(400, "nothing_to_run", "POST", "/v1/run", `{}`, "Accept", ndjsonType)

	_, next := g.open(t.Context(), "/v1/run?stdin=stream", `{"cmd":["cat"],"stdin":"1\n"}`, ndjsonType)
	var id string
	for n := 2; n < 5; n++ {
		for e := next(); !strings.HasSuffix(e.Data, fmt.Sprintf("%d\n", n-1)); e = next() {
			id = max(id, e.ID)
		}
		g.do(200, "POST", "/v1/runs/"+id+"/stdin", fmt.Sprintf("%d\n", n), "Content-Type", binary)
	}
	g.do(200, "POST", "/v1/runs/"+id+"/stdin?eof=1", "", "Content-Type", binary)
	var e event
	for e.Type != "end" {
		e = next()
	}
	if e.Result.Status != "ok" {
		t.Errorf("%+v", e.Result)
	}
}

// The usage of a run can be read while it runs, by its id and in the list of its sandbox.
func TestRealUsage(t *testing.T) {
	g := newReal(t)
	var box engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", `{}`).into(t, &box)
	at := "/v1/sandboxes/" + box.ID
	limit := `,"memory":"64m"`
	if os.Geteuid() != 0 { // a user has control groups only where some are delegated
		resp := must.Get(g.client.Do(g.request("POST", "/v1/run", `{"cmd":["true"]`+limit+`}`)))(t)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			limit = ""
		}
	}
	_, next := g.open(t.Context(), at+"/exec?stdin=stream", `{"cmd":["sh","-c","echo x; cat"]`+limit+`}`, ndjsonType)
	var id string
	for e := next(); id == "" || e.Type == "start"; e = next() {
		id = max(id, e.ID)
	}
	var one live.Run
	var list RunList
	g.do(200, "GET", "/v1/runs/"+id, "").into(t, &one)
	g.do(200, "GET", at+"/runs", "").into(t, &list)
	if one.ID != id || len(list.Runs) != 1 || list.Runs[0].ID != id || (one.Usage == nil) == (one.NoUsage == "") {
		t.Fatalf("%+v %+v", one, list)
	}
	if u := one.Usage; u == nil && limit == "" {
		t.Log("no figures here, since this user may make no control group: ", one.NoUsage)
	} else if limit != "" && (u == nil || u.Memory == nil || *u.Memory == 0 || u.MemoryLimit == nil ||
		*u.MemoryLimit != 64<<20 ||
		u.Tasks == nil || *u.Tasks < 2 || u.CPU == nil || u.OOMKill == nil || *u.OOMKill != 0) {
		b, _ := json.Marshal(u)
		t.Errorf("%s", b)
	}
	g.do(200, "POST", "/v1/runs/"+id+"/stdin?eof=1", "", "Content-Type", binary)
	for e := next(); e.Type != "end"; e = next() {
	}
	g.refused(404, "run_unknown", "GET", "/v1/runs/"+id, "")
	if r := g.do(200, "GET", at+"/runs", ""); strings.TrimSpace(string(r.text)) != `{"runs":[]}` {
		t.Errorf("%s", r.text)
	}
	g.refused(404, "not_found", "GET", "/v1/sandboxes/sb_x/runs", "")
}

// A cancelled run and one whose client is gone end, with all of their processes.
func TestRealCancel(t *testing.T) {
	g := newReal(t)
	var box engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", `{}`).into(t, &box)
	at := "/v1/sandboxes/" + box.ID
	_, next := g.open(t.Context(), at+"/exec", `{"cmd":["sh","-c","sleep 1000 & echo x; wait"]}`, ndjsonType)
	var id string
	for e := next(); id == "" || e.Type == "start"; e = next() {
		id = max(id, e.ID)
	}
	g.do(204, "DELETE", "/v1/runs/"+id, "")
	e := next()
	for e.Type != "end" {
		e = next()
	}
	if e.Result.Status != "cancelled" {
		t.Errorf("%+v", e.Result)
	}
	ctx, gone := context.WithCancel(t.Context())
	_, next = g.open(ctx, at+"/exec", `{"cmd":["sleep","1000"]}`, ndjsonType)
	next()
	gone()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		g.do(200, "GET", at, "").into(t, &box)
		if box.Running == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", box)
		}
	}
	_, next = g.open(t.Context(), at+"/exec", `{"cmd":["sleep","1000"]}`, ndjsonType)
	next()
	g.do(204, "DELETE", at, "") // ends what runs in it
	for e = next(); e.Type != "end"; e = next() {
	}
	g.refused(404, "not_found", "GET", at, "")
}

// What a payload leaves behind cannot be used against whoever reads it by HTTP.
func TestRealFiles(t *testing.T) {
	g := newReal(t)
	var box engine.SandboxInfo
	g.do(201, "POST", "/v1/sandboxes", `{"disk":"4m","inodes":100,"ttl":"5m","files":{"in":"x"}}`).into(t, &box)
	at := "/v1/sandboxes/" + box.ID
	var resp outcome
	g.do(200, "POST", at+"/exec", `{"language":"python","code":"import os\nos.chdir('/work')\nos.symlink('/etc/passwd','link')\nos.symlink('/etc','dir')\nos.symlink('loop','loop')\nos.mkfifo('fifo')\n`+
		`open('new\\nline','w').write('n')\nopen(b'\\xff\\xfe','w').write('b')\nf=open('sparse','w'); f.truncate(1<<40)\nos.mkdir('shut', 0)\nopen('plain','w').write('p'); os.chmod('plain', 0)\nprint(open('/input/in').read())"}`).into(t, &resp)
	if resp.Stdout != "x\n" {
		t.Fatalf("%+v", resp)
	}
	for path, want := range map[string]string{"link": "403 symlink", "dir/passwd": "403 symlink", "loop": "403 symlink",
		"fifo": "409 not_a_regular_file", "sparse": "413 too_large",
		"new%0aline": "200", "%ff%fe": "200", "nothing": "404 not_found", "..": "400 bad_path",
		"../../etc/passwd": "400 bad_path", "%2e%2e/x": "400 bad_path", "shut": "409 is_a_directory"} {
		answers := g.raw("unix", "GET "+at+"/files/work/"+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		status, code, _ := strings.Cut(want, " ")
		var body struct{ Code string }
		if len(answers) == 1 && code != "" {
			if err := json.NewDecoder(answers[0].Body).Decode(&body); err != nil {
				t.Error(err)
			}
		}
		if len(answers) != 1 || fmt.Sprint(answers[0].StatusCode) != status || body.Code != code {
			t.Errorf("%s: %v %+v, not %s", path, answers[0].Status, body, want)
		}
	}
	var files FileList
	g.do(200, "GET", at+"/files?recursive=true", "").into(t, &files)
	if len(files.Files) != 9 {
		t.Errorf("%+v", files)
	}
	for query, want := range map[string]bool{"path=/work/nothing": false, "path=/work/nothing&write=1": true,
		"path=/input/in": true, "path=/input/in&write=1": false,
		"path=/work/link": false, "path=/etc/passwd": false, "path=/work/shut/../../input/in": false} {
		var answer PathAllowed
		if g.do(200, "GET", at+"/allowed?"+query, "").into(t, &answer); answer.Allowed != want {
			t.Errorf("%s: %v", query, answer.Allowed)
		}
	}
	for name, want := range map[string]string{"a.py": "/work/a.py", "src/a.py": "/work/src/a.py", "output/b": "/output/b",
		"work/work": "/work/work"} {
		var info engine.FileInfo
		g.do(200, "PUT", at+"/files/"+name, name).into(t, &info)
		if info.Path != want || string(g.do(200, "GET", at+"/files"+want, "").text) != name {
			t.Errorf("%s is %s", name, info.Path)
		}
		g.do(204, "DELETE", at+"/files/"+name, "")
	}
	g.refused(403, "outside_sandbox", "GET", at+"/files/etc/passwd", "")
	g.refused(403, "outside_sandbox", "PUT", at+"/files/usr/bin/x", "x")
	g.refused(403, "symlink", "PUT", at+"/files/work/dir/x", "x")
	g.refused(507, "disk_full", "PUT", at+"/files/work/big", strings.Repeat("x", 5<<20))
	g.do(200, "PUT", at+"/files/input/more", "y")
	g.do(200, "POST", at+"/exec", `{"cmd":["sh","-c","cat /input/more; echo z >/input/more"]}`).into(t, &resp)
	if resp.Stdout != "y" || resp.Status != "failed" {
		t.Errorf("%+v", resp)
	}
	g.do(204, "DELETE", at+"/files/work/dir", "") // the link, not what it leads to
	g.do(204, "DELETE", at, "")
	g.refused(400, "bad_option", "POST", "/v1/sandboxes", `{"disk":"9000t"}`)
}

// TestRealPython runs the tests of clients/python against a server.
func TestRealPython(t *testing.T) {
	long.Again(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	g := newReal(t)
	dir := filepath.Join(asuser.Dir(), "python")
	cmd := exec.CommandContext(t.Context(), python, filepath.Join(dir, "tests", "test_brig.py"))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1", "BRIG_TEST_SOCKET="+g.socket,
		"BRIG_TEST_OPENAPI="+filepath.Join(asuser.Dir(), "openapi.json"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "OK") ||
		strings.Contains(string(out), "skipped") {
		t.Errorf("%v\n%s", err, out)
	}
	if mypy, err := exec.LookPath("mypy"); err == nil {
		if out, err := exec.CommandContext(t.Context(), mypy, "--strict",
			filepath.Join(dir, "brig.py")).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

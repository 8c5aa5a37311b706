package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/long"
)

// apart starts a queue, a brigd that only asks, and workers of these names.
func apart(t *testing.T, names ...string) (front *proc, workers map[string]*proc) {
	t.Helper()
	at := urls(cluster(t, 1))
	workers = map[string]*proc{}
	for _, name := range names {
		workers[name] = startWorker(t, at, "--worker-name", name, "--slots", "4", "--running", "4", "--ack-wait", "2s")
	}
	return begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s", "--jetstream", at), workers
}

// box makes a sandbox at a worker, and returns its path.
func (p *proc) box(worker string, body map[string]any, header ...string) string {
	p.t.Helper()
	for range 200 {
		status, a := p.do("POST", "/v1/sandboxes", body, header...)
		if status != 201 {
			p.t.Fatalf("%d %v\n%s", status, a, p.logged())
		}
		at := "/v1/sandboxes/" + a["id"].(string)
		if strings.HasSuffix(at, "-"+worker) {
			return at
		}
		if status, a := p.do("DELETE", at, nil, header...); status != 204 {
			p.t.Fatalf("%d %v", status, a)
		}
	}
	p.t.Fatalf("%s offers no room", worker)
	return ""
}

func (p *proc) exec(box, script string) (int, map[string]any) {
	p.t.Helper()
	return p.do("POST", box+"/exec", map[string]any{"cmd": []string{"/bin/sh", "-c", script}})
}

// A sandbox stays at the worker that created it, whichever brigd is asked. It is lost with that worker; its snapshots are
// not.
func TestQueueSandboxes(t *testing.T) {
	front, workers := apart(t, "a", "b")
	a, b := front.box("a", map[string]any{}), front.box("b", map[string]any{})
	if status, r := front.exec(a, "echo hello > /work/f; cat /work/f"); status != 200 || r["stdout"] != "hello\n" ||
		r["queue"].(map[string]any)["worker"] != "a" {
		t.Fatalf("%d %v\n%s", status, r, front.logged())
	}
	if status, r := front.exec(b, "cat /work/f"); status != 200 || r["stdout"] != "" {
		t.Errorf("%d %v", status, r)
	}
	_, list := front.do("GET", "/v1/sandboxes", nil)
	if got := list["sandboxes"].([]any); len(got) != 2 {
		t.Errorf("%v", got)
	}
	large := make([]byte, 5<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(large)
	if w, text := front.send("PUT", a+"/files/work/large", string(large)); w.StatusCode != 200 {
		t.Errorf("%d %s", w.StatusCode, text)
	}
	if w, text := front.send("GET", a+"/files/work/large", ""); w.StatusCode != 200 || text != string(large) {
		t.Errorf("%d, %d bytes", w.StatusCode, len(text))
	}
	status, snap := front.do("POST", a+"/snapshot", nil)
	if status != 201 || snap["bytes"].(float64) < 5<<20 {
		t.Fatalf("%d %v\n%s", status, snap, workers["a"].logged())
	}
	if status, r := front.do("POST", "/v1/sandboxes", map[string]any{"from": snap["id"]}, "X-Agent-Id", "mallory"); status != 404 {
		t.Errorf("another's snapshot: %d %v", status, r)
	}
	lost := make(chan string)
	go func() {
		status, r := front.exec(a, "sleep 3600")
		lost <- fmt.Sprint(status, " ", r["code"])
	}()
	for running := false; !running; {
		_, r := front.do("GET", a+"/runs", nil)
		runs, _ := r["runs"].([]any)
		running = len(runs) == 1
	}
	workers["a"].signal(syscall.SIGKILL)
	if got := <-lost; got != "410 sandbox_gone" {
		t.Errorf("the run that went on: %s", got)
	}
	for _, c := range [][2]string{{"GET", ""}, {"GET", "/files"}, {"POST", "/snapshot"}, {"DELETE", ""}} {
		if status, r := front.do(c[0], a+c[1], nil); status != 410 || r["code"] != "sandbox_gone" {
			t.Errorf("%s %s: %d %v", c[0], c[1], status, r)
		}
	}
	if status, r := front.exec(a, "true"); status != 410 || !strings.Contains(r["error"].(string), "worker a") {
		t.Errorf("%d %v", status, r)
	}
	again := front.box("b", map[string]any{"from": snap["id"]})
	want := fmt.Sprintf("hello\n%x", sha256.Sum256(large))
	if status, r := front.exec(again, "cat /work/f; sha256sum /work/large"); status != 200 || !strings.HasPrefix(r["stdout"].(string), want) {
		t.Errorf("%d %v", status, r)
	}
	if status, r := front.do("DELETE", "/v1/snapshots/"+snap["id"].(string), nil); status != 204 {
		t.Errorf("%d %v", status, r)
	}
	if status, r := front.do("POST", "/v1/sandboxes", map[string]any{"from": snap["id"]}); status != 404 {
		t.Errorf("a snapshot that was deleted: %d %v", status, r)
	}
}

// A stream of input reaches the worker as it comes, and a run that is cancelled tells how it ended.
func TestQueueStreamedInput(t *testing.T) {
	front, _ := apart(t, "a")
	for _, path := range []string{"/v1/run", front.box("a", map[string]any{}) + "/exec"} {
		w := front.streamed(t.Context(), path+"?stdin=stream", map[string]any{"cmd": []string{"cat"}, "stdin": "first "})
		id := w.Header.Get("X-Run-Id")
		in := newLines(w.Body)
		for _, piece := range []string{"second ", "third"} {
			if w, text := front.send("POST", "/v1/runs/"+id+"/stdin", piece, "Content-Type", "application/octet-stream"); w.StatusCode != 200 {
				t.Fatalf("%d %s", w.StatusCode, text)
			}
			in.until(t, piece)
		}
		if w, text := front.send("POST", "/v1/runs/"+id+"/stdin?eof=1", "", "Content-Type", "application/octet-stream"); w.StatusCode != 200 {
			t.Errorf("%d %s", w.StatusCode, text)
		}
		in.until(t, `"status":"ok"`)
		if !strings.Contains(in.text, "first ") {
			t.Errorf("%s", in.text)
		}
		w.Body.Close()
	}
}

// A server that is started again costs a sandbox nothing, and a client that goes away ends its run. A worker that is
// silent is lost, and no answer waits for it.
func TestQueueSandboxFaults(t *testing.T) {
	long.Test(t)
	once(t)
	nodes := cluster(t, 1)
	at := urls(nodes)
	w := startWorker(t, at, "--worker-name", "a", "--ack-wait", "5s")
	front := begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s", "--jetstream", at)
	a := front.box("a", map[string]any{})
	nodes[0].kill()
	if status, r := front.exec(a, "true"); status != 503 || r["code"] != "queue_unavailable" {
		t.Errorf("without a server: %d %v", status, r)
	}
	nodes[0].start()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		status, r := front.exec(a, "echo still here")
		if r["stdout"] == "still here\n" {
			break
		}
		if status != 503 || time.Now().After(end) {
			t.Fatalf("%d %v", status, r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := 0
	if err := front.streamOf(ctx, a+"/exec", "head -c 20000000 /dev/zero | tr '\\0' x; sleep 3600", func(e map[string]any) {
		if text, _ := e["data"].(string); e["type"] == "stdout" {
			if out += len(text); out == 20_000_000 {
				w.until("running", "1")
				cancel()
			}
		}
	}); err == nil || out != 20_000_000 {
		t.Errorf("%d bytes: %v", out, err)
	}
	w.until("running", "0")
	ended := make(chan string)
	go func() {
		status, r := front.exec(a, "echo > /work/going; sleep 3600")
		ended <- fmt.Sprint(status, " ", r["code"])
	}()
	w.until("running", "1")
	w.signal(syscall.SIGSTOP)
	defer w.signal(syscall.SIGCONT)
	if got := <-ended; got != "410 sandbox_gone" {
		t.Errorf("the run of a worker that is silent: %s", got)
	}
}

// A worker that keeps its sandboxes has them again under its name.
func TestQueueSandboxStore(t *testing.T) {
	once(t)
	d := dir(t)
	refuses(t, nil, []string{"worker", "--jetstream", "nats://localhost", "--sandbox-store", d + "/store"}, "--worker-name")
	at := urls(cluster(t, 1))
	args := []string{"--worker-name", "a", "--sandbox-store", d + "/store"}
	w := startWorker(t, at, args...)
	front := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", at)
	a := front.box("a", map[string]any{"files": map[string]any{"f": "kept"}})
	w.signal(syscall.SIGTERM)
	w.end()
	if status, r := front.exec(a, "cat /input/f"); status != 410 || r["code"] != "sandbox_gone" {
		t.Errorf("while its worker is away: %d %v", status, r)
	}
	startWorker(t, at, args...)
	if status, r := front.exec(a, "cat /input/f"); status != 200 || r["stdout"] != "kept" {
		t.Errorf("%d %v", status, r)
	}
}

// A token is verified at the worker, too, and its runs are counted where they are asked for. What it has made is not for
// a narrower one, and ends with it.
func TestQueueSandboxTokens(t *testing.T) {
	once(t)
	d := dir(t)
	call(t, "", "token", "keygen", "--out", d+"/k")
	wide := strings.TrimSpace(call(t, "", "token", "mint", "--key", d+"/k.key", "--agent", "bot", "--runs", "2"))
	narrow := strings.TrimSpace(call(t, wide, "token", "attenuate", "--policy", "minimal"))
	at := urls(cluster(t, 1))
	startWorker(t, at, "--worker-name", "a", "--token-key", d+"/k.pub", "--state-dir", d+"/worker", "--require-token",
		"--audit", d+"/log")
	front := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", at, "--token-key", d+"/k.pub",
		"--state-dir", d+"/front")
	if status, r := front.do("POST", "/v1/sandboxes", nil); status != 403 || r["code"] != "token_required" {
		t.Errorf("without a token: %d %v", status, r)
	}
	front.key = wide
	box := front.box("a", map[string]any{})
	status, snap := front.do("POST", box+"/snapshot", nil)
	if status != 201 {
		t.Fatalf("%d %v", status, snap)
	}
	id := snap["id"].(string)
	from := map[string]any{"from": id}
	again := front.box("a", from)
	front.key = narrow
	for _, c := range []struct {
		method, path string
		body         any
	}{{"GET", box, nil}, {"PUT", box + "/files/work/f", "x"}, {"DELETE", box, nil}, {"POST", box + "/snapshot", nil},
		{"POST", "/v1/sandboxes", from}, {"DELETE", "/v1/snapshots/" + id, nil}} {
		if status, r := front.do(c.method, c.path, c.body); status != 404 {
			t.Errorf("a narrower token: %s %s: %d %v", c.method, c.path, status, r)
		}
	}
	front.key = wide
	for i, want := range []int{200, 200, 403} {
		if status, r := front.exec(again, "true"); status != want {
			t.Errorf("run %d of 2: %d %v", i+1, status, r)
		}
	}
	for _, want := range []string{"sandbox.create", "sandbox.snapshot", "run.end"} {
		if shown := call(t, "", "audit", "show", d+"/log"); !strings.Contains(shown, want) {
			t.Errorf("%q is not in the worker's log:\n%s", want, shown)
		}
	}
	call(t, "", "token", "revoke", "--state-dir", d+"/front", "--token", file(t, d+"/token", wide))
	front.key = "" // the operator looks
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, list := front.do("GET", "/v1/snapshots", nil)
		if snaps, _ := list["snapshots"].([]any); len(snaps) == 0 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the snapshots of a token that was revoked: %v", snaps)
		}
	}
}

// The sandbox of an MCP session is at a worker, and goes with the session.
func TestQueueMCP(t *testing.T) {
	long.Again(t)
	at := urls(cluster(t, 1))
	w := startWorker(t, at, "--worker-name", "a")
	cmd, to, from := stdio(t, "--jetstream", at)
	said := newLines(from)
	call := func(id int, tool, args, want string) {
		t.Helper()
		if _, err := fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":%d}}}`+"\n",
			id, tool, args, id); err != nil {
			t.Fatal(err)
		}
		said.until(t, fmt.Sprintf(`"id":%d,`, id))
		said.until(t, want)
	}
	if _, err := io.WriteString(to, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	call(2, "run_command", `{"cmd":["sh","-c","echo written > f; echo progress; sleep 2"]}`, "last: progress")
	call(3, "read_file", `{"path":"f"}`, `"content":"written\n"`)
	call(4, "take_snapshot", `{}`, `"sn_`)
	_, rest, _ := strings.Cut(said.text, `"snapshot":{"id":"`)
	snap, _, _ := strings.Cut(rest, `"`)
	call(5, "write_file", `{"path":"f","content":"replaced"}`, `8 bytes written`)
	call(6, "restore_snapshot", fmt.Sprintf(`{"snapshot":%q}`, snap), `"restored"`)
	said.text = ""
	call(7, "run_command", `{"cmd":["cat","f"]}`, `"stdout":"written\n"`)
	call(8, "list_snapshots", `{}`, snap)
	w.until("running", "0")
	if !strings.Contains(w.logged(), "route=exec") {
		t.Errorf("the worker has run nothing:\n%s", w.logged())
	}
	if err := errors.Join(to.Close(), cmd.Wait()); err != nil {
		t.Error(err)
	}
	for end := time.Now().Add(time.Minute); strings.Count(w.logged(), "route=deleteSandbox status=204") != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) { // the worker answers before it writes the line
			t.Fatalf("the sandbox is not removed:\n%s", w.logged())
		}
	}
}

// The Python client, unchanged, has what it asks for by the queue.
func TestQueuePython(t *testing.T) {
	long.Test(t)
	once(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	front, _ := apart(t, "a", "b")
	cmd := exec.CommandContext(t.Context(), python, "../../../clients/python/tests/test_brig.py")
	cmd.Env = append(os.Environ(), "PYTHONPATH=../../../clients/python", "PYTHONDONTWRITEBYTECODE=1",
		"BRIG_TEST_SOCKET="+strings.TrimPrefix(front.addr, "unix:"), "BRIG_TEST_OPENAPI=../../../docs/openapi.json")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "OK") ||
		strings.Contains(string(out), "skipped") {
		t.Errorf("%v\n%s", err, out)
	}
}

// lines reads a stream.
type lines struct {
	in   io.Reader
	text string
}

func newLines(in io.Reader) *lines { return &lines{in: in} }

// until reads until a text has come.
func (l *lines) until(t *testing.T, want string) {
	t.Helper()
	buf := make([]byte, 4096)
	for end := time.Now().Add(time.Minute); !strings.Contains(l.text, want); {
		n, err := l.in.Read(buf)
		l.text += string(buf[:n])
		if err != nil && !strings.Contains(l.text, want) || time.Now().After(end) {
			t.Fatalf("%q never comes: %v in %s", want, err, l.text)
		}
	}
}

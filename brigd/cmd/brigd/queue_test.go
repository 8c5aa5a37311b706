package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"
)

// One machine, nothing installed: brigd keeps the queue in a directory, and what waits there outlives a kill.
func TestQueueOfItsOwn(t *testing.T) {
	d := dir(t)
	args := []string{"serve", "--listen", "unix:" + d + "/s", "--jetstream", d + "/q", "--slots", "1", "--running", "1",
		"--ack-wait", "1s", "--max-deliver", "9", "--audit", d + "/audit.jsonl"}
	p := begin(t, nil, args...)
	status, a := p.run("echo hello; exit 3")
	if status != 200 || a["stdout"] != "hello\n" || a["exit_code"] != 3.0 {
		t.Fatalf("%d %v\n%s", status, a, p.logged())
	}
	if q, _ := a["queue"].(map[string]any); q == nil || q["worker"] == "" || q["attempt"] != 1.0 {
		t.Errorf("how it came to a worker: %v", a["queue"])
	}
	if status, a := p.do("POST", "/v1/run", map[string]any{"language": "klingon", "code": "x"}); status != 400 && status != 422 {
		t.Errorf("a bad request: %d %v", status, a)
	}
	var kinds, out string
	if err := p.events(t.Context(), "for i in 1 2 3; do echo $i; done; exit 5", func(e map[string]any) {
		kinds += e["type"].(string)[:2] + " "
		if e["type"] == "stdout" {
			out += e["data"].(string)
		}
		if e["type"] == "end" && e["result"].(map[string]any)["exit_code"] != 5.0 {
			t.Errorf("the end: %v", e)
		}
	}); err != nil || out != "1\n2\n3\n" || !strings.HasPrefix(kinds, "st st") || !strings.HasSuffix(kinds, "en ") {
		t.Errorf("a stream: %q %q %v", kinds, out, err)
	}
	if _, a := p.do("GET", "/metrics", nil); !strings.Contains(a["text"].(string), "\nbrigd_queue_taken_total 3\n") {
		t.Errorf("the metrics do not count three runs of the queue: %v", a)
	}
	// the output of a stream is not kept, so a second request could not be answered as the first
	if _, a := p.run("echo hello", "Idempotency-Key", "s", "Accept", "application/x-ndjson"); a["code"] != "key_not_kept" {
		t.Errorf("a stream with a key: %v", a)
	}
	first := p.later("sleep 0.5; echo first")
	ids := map[string]string{}
	for i := range 5 {
		ids[fmt.Sprint(i)] = p.later("echo "+fmt.Sprint(i), "Idempotency-Key", "job-"+fmt.Sprint(i))
	}
	p.state(first, "running")
	p.signal(syscall.SIGKILL)
	_ = p.cmd.Wait() // of a kill
	p = begin(t, nil, args...)
	if a := p.ended(first); a["stdout"] != "first\n" || a["queue"].(map[string]any)["attempt"] == 1.0 {
		t.Errorf("the run that was going on: %v", a)
	}
	for i, id := range ids {
		if a := p.ended(id); a["stdout"] != i+"\n" {
			t.Errorf("%s: %v", i, a)
		}
		if again := p.later("echo "+i, "Idempotency-Key", "job-"+i); again != id {
			t.Errorf("the same key again: %s, not %s", again, id)
		}
	}
	if status, a := p.run("echo other", "Idempotency-Key", "job-1"); status != 422 || a["code"] != "key_reused" {
		t.Errorf("another request with the key: %d %v", status, a)
	}
	text, err := os.ReadFile(d + "/audit.jsonl")
	if err != nil || strings.Count(string(text), `"event":"run.start","run":"`+first) != 2 {
		t.Errorf("%v: both starts of %s are not in the audit log:\n%s", err, first, text)
	}
	p.signal(syscall.SIGTERM)
	p.end()
}

// Who does not want a run any more cancels it, wherever it is.
func TestQueueCancel(t *testing.T) {
	d := dir(t)
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q", "--running", "1", "--slots", "1",
		"--audit", d+"/audit")
	going, waiting := p.later("sleep 3600"), p.later("echo never")
	p.state(going, "running")
	if status, a := p.do("DELETE", "/v1/runs/"+waiting, nil); status != 204 {
		t.Errorf("%d %v", status, a)
	}
	if status, a := p.do("DELETE", "/v1/runs/"+going, nil); status != 204 {
		t.Errorf("%d %v", status, a)
	}
	for _, id := range []string{going, waiting} {
		if a := p.ended(id); a["status"] != "cancelled" || a["stdout"] != "" {
			t.Errorf("%v", a)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := ""
	if err := p.events(ctx, "echo begun; sleep 3600", func(e map[string]any) {
		if e["type"] == "stdout" {
			ran, _ = e["data"].(string)
			cancel() // the client goes away
		}
	}); err == nil || ran != "begun\n" {
		t.Errorf("%q %v", ran, err)
	}
	if _, a := p.run("echo next"); a["stdout"] != "next\n" { // the only slot is free again
		t.Errorf("%v", a)
	}
	if status, a := p.do("GET", "/v1/runs/"+going, nil, "X-Agent-Id", "mallory"); status != 404 {
		t.Errorf("another's run: %d %v", status, a)
	}
	p.signal(syscall.SIGTERM)
	p.end()
	if log := d + "/audit"; starts(t, log, going) != 1 || starts(t, log, waiting) != 0 {
		t.Errorf("the run that waited, %s, was started:\n%s", waiting, must.Get(os.ReadFile(log))(t))
	}
}

// The queue has bounds, and a full one tells when to ask again.
func TestQueueFull(t *testing.T) {
	once(t)
	d := dir(t)
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q", "--running", "1", "--queue", "3",
		"--queue-per-caller", "2")
	p.state(p.later("sleep 3600"), "running")
	p.later("true")
	status, a := p.run("true", "Prefer", "respond-async")
	if status != 429 || a["code"] != "queue_full" {
		t.Errorf("%d %v", status, a)
	}
	p.later("true", "X-Agent-Id", "other")
	if status, a := p.run("true", "X-Agent-Id", "third"); status != 429 {
		t.Errorf("%d %v", status, a)
	}
	p.signal(syscall.SIGTERM)
	p.until("draining", "true")
	p.signal(syscall.SIGTERM)
	p.end()
}

// A run that ends its workers is given up after some attempts, and the operator can let it begin again.
func TestQueueGivesUp(t *testing.T) {
	once(t)
	d := dir(t)
	front := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--jetstream", d+"/q", "--slots", "1", "--ack-wait", "1s",
		"--running", "1", "--max-deliver", "2")
	hold := front.later("sleep 3600") // the front's own slot is taken
	front.state(hold, "running")
	poison := front.later("sleep 3600", "Idempotency-Key", "poison")
	shared := dir(t)
	share := []string{"--share", "go=" + shared + ":ro"}
	streamed := make(chan struct{})
	go func() { // it ends once a file is there, and no victim lives to see it
		defer close(streamed)
		_, _ = front.do("POST", "/v1/run", map[string]any{"cmd": []string{"/bin/sh", "-c",
			"until [ -e /data/go ]; do sleep 0.1; done; echo again"}, "stdin": strings.Repeat("x", 2<<20),
			"mounts": []any{map[string]any{"share": "go", "target": "/data"}}}, "Accept", "application/x-ndjson")
	}()
	for range 2 {
		w := startWorker(t, "unix:"+d+"/q", append(share, "--slots", "3", "--running", "3", "--max-deliver", "2",
			"--worker-name", "victim")...)
		soon(t, "both run", func() bool {
			_, h := w.do("GET", "/healthz", nil)
			return h["details"].(map[string]any)["running"] == "2"
		})
		w.signal(syscall.SIGKILL) // as the run would, by its memory
		_ = w.cmd.Wait()
	}
	startWorker(t, "unix:"+d+"/q", append(share, "--slots", "2", "--running", "2", "--max-deliver", "2")...)
	a := front.ended(poison)
	if no, _ := a["error"].(map[string]any); a["status"] != "refused" || no["code"] != "run_given_up" {
		t.Fatalf("%v", a)
	}
	<-streamed
	again := ""
	_, q := front.do("GET", "/v1/queue", nil)
	dead, _ := q["given_up"].([]any)
	for _, run := range dead {
		if id := run.(map[string]any)["id"].(string); id != poison {
			again = id
		}
	}
	if len(dead) != 2 || len(q["workers"].([]any)) != 2 || again == "" {
		t.Errorf("the queue: %v", q)
	}
	file(t, shared+"/go", "")
	if status, a := front.do("POST", "/v1/queue/"+again+"/requeue", nil); status != 204 {
		t.Errorf("%d %v", status, a)
	}
	if a := front.ended(again); a["stdout"] != "again\n" {
		t.Errorf("a stream that began again: %v", a)
	}
	if status, a := front.do("POST", "/v1/queue/"+poison+"/requeue", nil); status != 204 {
		t.Errorf("%d %v", status, a)
	}
	front.state(poison, "running")
}

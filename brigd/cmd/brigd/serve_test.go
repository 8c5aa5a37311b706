package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"brig/brigd/audit"
	"brig/internal/test/must"
)

func TestServeWithoutFlags(t *testing.T) {
	d := dir(t)
	p := begin(t, []string{"XDG_RUNTIME_DIR=" + d}, "serve")
	if st, err := os.Lstat(d + "/brigd.sock"); err != nil || st.Mode() != os.ModeSocket|0o600 {
		t.Fatalf("the socket: %v, %v\n%s", st, err, p.logged())
	}
	status, a := p.run("echo hello; id -u")
	if status != 200 || a["status"] != "ok" || !strings.HasPrefix(a["stdout"].(string), "hello\n") {
		t.Errorf("%d %v", status, a)
	}
	if status, a := p.do("GET", "/metrics", nil); status != 200 || !strings.Contains(a["text"].(string), "\nsandbox_executions_total{status=\"ok\"} 1\n") {
		t.Errorf("metrics: %d %v", status, a)
	}
	refuses(t, []string{"XDG_RUNTIME_DIR=" + d}, []string{"serve"}, "another brigd listens")
	p.signal(syscall.SIGTERM)
	p.end()
	if left, err := os.ReadDir(d); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestStartsThatAreRefused(t *testing.T) {
	d := dir(t)
	env := []string{"XDG_RUNTIME_DIR=" + d}
	fifo := d + "/fi/fo"
	must.Do(t, errors.Join(os.Mkdir(d+"/fi", 0o700), syscall.Mkfifo(fifo, 0o600)))
	key := file(t, d+"/keys", "coder "+strings.Repeat("k", 40))
	open := file(t, d+"/open", "coder "+strings.Repeat("k", 40))
	must.Do(t, os.Chmod(open, 0o644))
	for _, x := range []struct{ args, want string }{
		{"", "there is no command"},
		{"sevre", "did you mean brigd serve?"},
		{"--running 3", "flags follow the command"},
		{"serve --runing 3", "did you mean --running?"},
		{"serve --listen tcp:127.0.0.1:0", "open to anybody"},
		{"serve --listen tcp:0.0.0.0:0 --api-key-file " + key, "no loopback address"},
		{"serve --listen tcp:127.0.0.1:0 --api-key-file " + open, "chmod 600"},
		{"serve --listen tcp:127.0.0.1:0 --api-key-file " + d + "/none", "no such file"},
		{"serve --listen tcp:127.0.0.1:0 --tls-cert " + key + " --tls-key " + key + " --client-ca " + key, "in PEM"},
		{"serve --listen unix:/nonexistent/s", "directory of the socket"},
		{"serve --policy no-such-profile", "--policy"},
		{"serve --policy " + fifo, "no regular file"},
		{"serve --spec " + fifo, "no regular file"},
		{"mcp --tools " + fifo, "no regular file"},
		{"serve --token-key " + d + "/none --state-dir " + d + "/state", "brigd token keygen --out NAME"},
		{"serve --allow-uid 12345", "add --listen unix:PATH"},
		{"serve --allow-uid 12345 --listen unix", "add --listen unix:PATH"},
		{"serve --spec " + key, "--spec"},
		{"serve --token-key " + key + " --state-dir " + d + "/state", "--token-key"},
		{"serve --audit " + key + "/a", "--audit"},
		{"serve --config " + key, "the file is not JSON"},
		{"serve --port-host localhost", "no browser reaches a Unix socket"},
		{"mcp --listen unix", "--http"},
		{"mcp --tools " + key, "tools"},
		{"version --jsn", "--json"},
		{"help sevre", "did you mean serve?"},
	} {
		refuses(t, env, strings.Fields(x.args), x.want)
	}
	if left, err := filepath.Glob(d + "/*.sock*"); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// After SIGTERM, accepted runs continue, new ones are refused, and brigd ends after the last run.
func TestDrain(t *testing.T) {
	d := dir(t)
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s", "--running", "1")
	answers := make(chan map[string]any, 2)
	for range 2 { // one runs, one waits: both have been taken
		go func() {
			_, a := p.run("sleep 1; echo done")
			answers <- a
		}()
	}
	p.until("running", "1")
	p.until("waiting", "1")
	p.signal(syscall.SIGTERM)
	p.until("draining", "true")
	if status, a := p.do("GET", "/healthz", nil); status != 503 || a["ready"] != false {
		t.Errorf("healthz: %d %v", status, a)
	}
	if status, a := p.run("true"); status != 503 || a["code"] != "draining" {
		t.Errorf("a run while draining: %d %v", status, a)
	}
	for range 2 {
		if a := <-answers; a["stdout"] != "done\n" {
			t.Errorf("a run that had been taken: %v", a)
		}
	}
	p.end()
}

// The drain timeout, or a second signal, ends what still runs.
func TestDrainIsBounded(t *testing.T) {
	for _, timeout := range []string{"100ms", "1h"} {
		p := begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s", "--drain-timeout", timeout)
		answer := make(chan map[string]any, 1)
		go func() {
			_, a := p.run("sleep 3600")
			answer <- a
		}()
		p.until("running", "1")
		p.signal(syscall.SIGINT)
		if timeout == "1h" {
			p.until("draining", "true")
			p.signal(syscall.SIGTERM)
		}
		if a := <-answer; a["status"] != "cancelled" {
			t.Errorf("%s: %v", timeout, a)
		}
		p.end()
	}
}

// processes counts those whose command line has a word.
func processes(t *testing.T, word string) (n int) {
	t.Helper()
	list := must.Get(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, f := range list {
		if text, err := os.ReadFile(f); err == nil && bytes.Contains(text, []byte("\x00"+word+"\x00")) {
			n++
		}
	}
	return n
}

// A killed brigd leaves no process; the next one takes its socket and goes on with its audit log.
func TestKilled(t *testing.T) {
	d := dir(t)
	args := []string{"serve", "--listen", "unix:" + d + "/s", "--audit", d + "/audit.jsonl"}
	p := begin(t, nil, args...)
	word := "8" + strconv.Itoa(os.Getpid()) + "1" // seconds to sleep: nobody else's
	for range 3 {
		go p.run("exec sleep " + word)
	}
	p.until("running", "3")
	soon(t, "three payloads run", func() bool { return processes(t, word) == 3 })
	p.signal(syscall.SIGKILL)
	if err := p.cmd.Wait(); err == nil {
		t.Error("it ended well")
	}
	soon(t, "no payload outlives brigd", func() bool { return processes(t, word) == 0 })
	p = begin(t, nil, args...)
	p.prints("again\n", "echo again")
	p.signal(syscall.SIGTERM)
	p.end()
	if _, err := (audit.VerifyOptions{}).Verify(d + "/audit.jsonl"); err != nil {
		t.Errorf("the audit log: %v", err)
	}
}

func TestConfigFile(t *testing.T) {
	d := dir(t)
	text, err := json.Marshal(map[string]any{"listen": []string{"unix:" + d + "/s"}, "log": map[string]any{"format": "text", "level": "debug"},
		"queue": map[string]any{"running": 1, "waiting": 0}, "jails": map[string]any{"timeout": "2m"}})
	if err != nil {
		t.Fatal(err)
	}
	p := begin(t, nil, "serve", "--config", file(t, d+"/brigd.json", string(text)))
	go p.run("sleep 3600")
	p.until("running", "1")
	if status, a := p.run("true"); status != 429 || a["code"] != "queue_full" {
		t.Errorf("%d %v", status, a)
	}
	p.signal(syscall.SIGTERM)
	p.until("draining", "true")
	p.signal(syscall.SIGTERM)
	p.end()
}

// A service manager opens the socket, and is told when brigd is ready.
func TestServiceManager(t *testing.T) {
	d := dir(t)
	told := must.Get(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: d + "/n", Net: "unixgram"}))(t)
	defer told.Close()
	l := must.Get(net.ListenUnix("unix", &net.UnixAddr{Name: d + "/s", Net: "unix"}))(t)
	defer l.Close()
	f := must.Get(l.File())(t)
	defer f.Close()
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" serve`, brigd(t)) // its own number, which only it can know
	cmd.ExtraFiles = []*os.File{f}
	p := beginCmd(t, cmd, []string{"LISTEN_FDS=1", "NOTIFY_SOCKET=" + d + "/n"})
	b := make([]byte, 100)
	if n, err := told.Read(b); err != nil || !strings.HasPrefix(string(b[:n]), "READY=1") {
		t.Errorf("told %q, %v", b[:n], err)
	}
	if status, a := p.run("env"); status != 200 || strings.Contains(a["stdout"].(string), "LISTEN") || strings.Contains(a["stdout"].(string), "NOTIFY") {
		t.Errorf("%d %v\n%s", status, a, p.logged())
	}
	p.signal(syscall.SIGTERM)
	if n, err := told.Read(b); err != nil || !strings.HasPrefix(string(b[:n]), "STOPPING=1") {
		t.Errorf("told %q, %v", b[:n], err)
	}
	p.end()
	if _, err := os.Lstat(d + "/s"); err != nil {
		t.Errorf("the manager's socket: %v", err)
	}
}

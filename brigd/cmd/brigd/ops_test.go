package main

import (
	"strings"
	"syscall"
	"testing"

	"brig/internal/cli"
	"brig/internal/sys"
	"brig/internal/test/must"
)

// The metrics know how many sandboxes there are.
func TestWorkAreas(t *testing.T) {
	p := begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s")
	shows := func(want string) {
		t.Helper()
		if _, a := p.do("GET", "/metrics", nil); !strings.Contains(a["text"].(string), "\nsandbox_work_areas "+want+"\n") {
			t.Errorf("not %s work areas", want)
		}
	}
	at, box := p.sandbox(map[string]any{})
	if status, a := p.do("POST", "/v1/sandboxes", map[string]any{"disk": "9999g"}); status < 400 {
		t.Errorf("%d %v", status, a)
	}
	shows("1")
	p.want(204, "DELETE", at, nil)
	shows("0")
	p.want(404, "POST", "/v1/run", map[string]any{"cmd": []string{"true"}, "sandbox": box["id"]})
	if _, a := p.do("GET", "/metrics", nil); !strings.Contains(a["text"].(string), "\nsandbox_executions_total{status=\"refused\"} 1\n") {
		t.Error("a refused request is not counted")
	}
	p.signal(syscall.SIGHUP)
	p.end()
}

func TestHelp(t *testing.T) {
	for _, x := range [][]string{{"help"}, {"--help"}, {"help", "serve"}, {"serve", "--help"}, {"serve", "--running", "3", "-h"}, {"help", "mcp"}, {"mcp", "-h"}} {
		out := call(t, "", x...)
		if !strings.HasPrefix(out, "Examples:\n") {
			t.Errorf("%q begins with %.40q", x, out)
		}
		for line := range strings.Lines(out) {
			if len(line) > cli.HelpWidth+1 && !strings.HasPrefix(line, "  curl") {
				t.Errorf("%q: a wide line: %q", x, line)
			}
		}
	}
	for _, name := range []string{"policy", "token", "audit"} { // they have their own
		if out := call(t, "", "help", name); out != call(t, "", name, "--help") || !strings.Contains(out, name+" COMMAND") && !strings.Contains(out, name+" verify") {
			t.Errorf("%s: %q", name, out)
		}
	}
	if out := call(t, "", "version"); out != "brigd "+version+"\n" {
		t.Errorf("%q", out)
	}
}

// A brigd whose launcher has died logs that and exits, so that it can be started again.
func TestLauncherGone(t *testing.T) {
	p := begin(t, nil, "serve", "--listen", "unix:"+dir(t)+"/s")
	p.ran(200, "true")
	for _, pid := range sys.Children(p.cmd.Process.Pid) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != syscall.ESRCH { // what has served the run may have ended
			must.Do(t, err)
		}
	}
	for range launcherFailures {
		p.ran(500, "true")
	}
	if err := p.cmd.Wait(); err == nil || p.cmd.ProcessState.ExitCode() != cli.ExitUsage {
		t.Errorf("it ended with %v\n%s", err, p.logged())
	}
	if !strings.Contains(p.logged(), "no jail can be made any more") {
		t.Errorf("the log: %s", p.logged())
	}
}

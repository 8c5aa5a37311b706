package nsjail

import (
	"io"
	"os"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// lie is a report as a payload would like it.
const lie = `{"status":"memory","exit_code":0,"signal":"","timed_out":true,"limits_hit":["memory"]}`

// TestLimitForgeries: what a payload does to look like something else changes nothing.
func TestLimitForgeries(t *testing.T) {
	needs(t, "python3")
	for name, story := range map[string]struct {
		script string
		want   Result
	}{
		"exit 137":                    {"exit 137", Result{Status: StatusFailed, ExitCode: 137}},
		"exit 124":                    {"exit 124", Result{Status: StatusFailed, ExitCode: 124}},
		"exit 125":                    {"exit 125", Result{Status: StatusFailed, ExitCode: 125}},
		"SIGKILL by itself":           {"kill -9 $$", Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"SIGKILL by a child":          {"sh -c 'kill -9 '$$; sleep 1000", Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGKILL"}},
		"SIGKILL of a child":          {"sh -c 'kill -9 $$'; exit 4", Result{Status: StatusFailed, ExitCode: 4}},
		"SIGKILL of all it may":       {"kill -9 -1; exit 4", Result{Status: StatusFailed, ExitCode: 4}},
		"SIGXCPU by itself":           {"kill -XCPU $$", Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGXCPU"}},
		"SIGSYS by itself":            {"kill -SYS $$", Result{Status: StatusSignal, ExitCode: -1, Signal: "SIGSYS"}},
		"its parent":                  {"kill -9 1; kill -9 $PPID; kill -9 1; exit 6", Result{Status: StatusFailed, ExitCode: 6}},
		"a report on its streams":     {"echo '" + lie + "'; echo '" + lie + "' >&2; exit 7", Result{Status: StatusFailed, ExitCode: 7}},
		"a report on each descriptor": {"exec python3 -c '" + writeAll + "'", Result{Status: StatusFailed, ExitCode: 8}},
	} {
		t.Run(name, func(t *testing.T) {
			c := shell(story.script)
			c.Spec.Limits.Memory, c.Spec.Optional = 64<<20, []string{"memory"}
			_, r := mustRun(t, c)
			if r.Status != story.want.Status || r.ExitCode != story.want.ExitCode || r.Signal != story.want.Signal || r.TimedOut || len(r.LimitsHit) > 0 {
				t.Errorf("%s %d %q %v, want %s %d %q", r.Status, r.ExitCode, r.Signal, r.LimitsHit, story.want.Status, story.want.ExitCode, story.want.Signal)
			}
		})
	}
}

// writeAll writes a lie to every descriptor that there is or could be.
const writeAll = `
import os
for fd in range(1024):
    for message in b"{\"status\":\"ok\"}", b"\0" * 184, b"\3\0\0\0" + b"\0" * 180:
        try: os.write(fd, message)
        except OSError: pass
os._exit(8)`

// TestLimitKilledFromOutside: SIGKILL by the host is neither memory nor a limit on time, whether it hits the payload or
// the jail's init.
func TestLimitKilledFromOutside(t *testing.T) {
	for _, who := range []string{"payload", "init"} {
		c := shell("echo up; sleep 1000 & wait")
		c.Spec.Limits.Memory, c.Spec.Limits.CPUTime, c.Spec.Optional = 64<<20, spec.Duration(5e9), []string{"memory"}
		out, theirs, err := os.Pipe()
		must.Do(t, err)
		c.Stdout = theirs
		must.Do(t, c.Start())
		theirs.Close()
		must.Get(io.ReadFull(out, make([]byte, 3)))(t)
		pid := c.Pid()
		if who == "payload" {
			pid = onlyChild(t, pid)
		}
		must.Do(t, unix.Kill(pid, unix.SIGKILL))
		r, err := c.Wait()
		out.Close()
		if err != nil || r.Status != StatusSignal || r.Signal != "SIGKILL" || r.ExitCode != -1 || len(r.LimitsHit) > 0 {
			t.Errorf("%s: %+v %v", who, r, err)
		}
	}
}

func onlyChild(t *testing.T, pid int) int {
	t.Helper()
	list := sys.Children(pid)
	if len(list) != 1 {
		t.Fatalf("process %d has the children %v", pid, list)
	}
	return list[0]
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/sys"
	"brig/internal/test/must"
)

// TestStopAndContinue: SIGTSTP stops every process of the jail and then brig, and SIGCONT continues both.
func TestStopAndContinue(t *testing.T) {
	if _, err := os.Stat("/usr/bin/perl"); err != nil {
		t.Skip(err)
	}
	// no forks while it runs: a stop between vfork(2) and execve(2) leaves a shell in state D
	c := onTerminal(t, "run", "--", "perl", "-e", `$|=1; $SIG{TERM}=sub{exit 6}; fork; while(1){print "tick\n"; select undef,undef,undef,0.02}`)
	c.See("tick")
	pid := c.Cmd.Process.Pid
	must.Do(t, syscall.Kill(pid, syscall.SIGTSTP))
	waitStopped(t, pid)
	stopped := 0
	for _, child := range sys.Descendants(pid) {
		if comm := procField(child, "comm"); comm == "perl" {
			waitStopped(t, child)
			stopped++
		}
	}
	if stopped != 2 {
		t.Errorf("%d processes of the payload are stopped, want 2", stopped)
	}
	must.Do(t, syscall.Kill(pid, syscall.SIGCONT))
	c.Forget()
	c.See("tick\r\ntick")
	must.Do(t, syscall.Kill(pid, syscall.SIGTERM))
	if code := c.Exit(); code != 6 {
		t.Errorf("exit code %d, want 6", code)
	}
}

func procField(pid int, name string) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	if err != nil {
		return "" // it has ended
	}
	return strings.TrimSpace(string(b))
}

// waitStopped waits until a process is stopped: proc(5).
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	state := ""
	for range 1000 {
		_, after, _ := strings.Cut(procField(pid, "stat"), ") ")
		if state, _, _ = strings.Cut(after, " "); state == "T" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("process %d is in state %q, want T", pid, state)
}

// TestStopWhileItStarts: stopped and continued at any moment of its start, brig goes on. A terminal has a second
// SIGCONT for it (fg), a supervisor has not.
func TestStopWhileItStarts(t *testing.T) {
	for i := range 30 {
		cmd := exec.Command(brigBinary(t), "run", "--", "true")
		must.Do(t, cmd.Start())
		for range i * 700 { // some time, which a busy machine stretches for both
			_ = syscall.Kill(cmd.Process.Pid, 0)
		}
		ended := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }) // the error says that it has ended
		for _, sig := range []syscall.Signal{syscall.SIGTSTP, syscall.SIGCONT} {
			must.Do(t, cmd.Process.Signal(sig))
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("moment %d: %v", i, err)
		}
		ended.Stop()
	}
}

package nsjail

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"brig/internal/test/must"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// TestLimitFreeze: a frozen jail makes no progress, and goes on where it was.
func TestLimitFreeze(t *testing.T) {
	c := tight(t, "while :; do echo x; done")
	out, theirs, err := os.Pipe()
	must.Do(t, err)
	defer out.Close()
	c.Stdout = theirs
	must.Do(t, c.Start())
	theirs.Close()
	buf := make([]byte, 1<<17) // more than a pipe holds
	hear := func(most time.Duration) (n int) {
		must.Do(t, out.SetReadDeadline(time.Now().Add(most)))
		n, err := out.Read(buf)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		return n
	}
	if hear(time.Minute) == 0 {
		t.Fatal("it says nothing")
	}
	must.Do(t, c.Freeze(true))
	for hear(time.Millisecond) > 0 { // what it had said before
	}
	before := c.running.Load().group.CPUUsage()
	if n := hear(200 * time.Millisecond); n > 0 || c.running.Load().group.CPUUsage() != before {
		t.Errorf("it has said %d bytes while frozen, and used %s", n, c.running.Load().group.CPUUsage()-before)
	}
	must.Do(t, c.Freeze(false))
	if hear(time.Minute) == 0 {
		t.Error("it does not go on")
	}
	if err := c.Signal(unix.SIGKILL); err != nil {
		t.Error(err)
	}
	if _, err := c.Wait(); err != nil {
		t.Error(err)
	}
	if err := c.Freeze(true); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	c = shell("sleep 1000")
	if err := c.Freeze(true); err == nil || !strings.Contains(err.Error(), "before a successful Start") {
		t.Error(err)
	}
	must.Do(t, c.Start())
	if err := c.Freeze(true); err == nil || !strings.Contains(err.Error(), "no control group") {
		t.Error(err)
	}
	c.running.Load().ender.kill()
	if _, err := c.Wait(); err != nil {
		t.Error(err)
	}
}

// stubborn leaves its session, its parent and its group, forks twice and ignores every signal.
const stubborn = `
import os, signal, sys
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
r, w = os.pipe()
for i in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setpgid(0, 0)
            os.write(w, b"x")
            while True: signal.pause()
        os._exit(0)
for i in range(5): os.read(r, 1)
print("up", flush=True)
sys.stdin.read()`

// TestLimitNothingIsLeft: when Wait has returned, the group is gone, and so is every process that was in it.
func TestLimitNothingIsLeft(t *testing.T) {
	for _, how := range []string{"exit", "wall", "memory", "no init"} {
		c := python(t, stubborn)
		if how == "memory" {
			c = python(t, stubborn+"\nx = b'x' * (1 << 30)")
		}
		c.Spec.NoInit = how == "no init"
		c.Spec.Limits.Memory = 64 << 20
		if how == "wall" {
			c.Spec.Limits.Wall = spec.Duration(time.Second)
		}
		out, theirs, err := os.Pipe()
		must.Do(t, err)
		c.Stdout = theirs
		end := runningPayload(t, needsLimits(t, c))
		theirs.Close()
		if _, err := io.ReadFull(out, make([]byte, 3)); err != nil && how != "wall" {
			t.Fatal(how, err)
		}
		v2, v1 := c.ControlGroup()
		dirs := append([]string{v2}, v1["memory"])
		pids := map[string]bool{}
		for _, dir := range dirs {
			for _, pid := range procs(t, dir) {
				pids[pid] = true
			}
		}
		if len(pids) < 6 && how != "wall" {
			t.Errorf("%s: only %d processes in %q", how, len(pids), dirs)
		}
		if how == "wall" { // its input stays open
			r := must.Get(c.Wait())(t)
			runtime.KeepAlive(end) // it holds the input, which a finalizer would close
			wantStatus(t, r, StatusTimeout, "wall")
		} else if r := end(); how == "memory" {
			wantStatus(t, r, StatusMemory, "memory")
		}
		out.Close()
		for _, dir := range dirs {
			if _, err := os.Stat(dir); dir != "" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: %s is there: %v", how, dir, err)
			}
		}
		for pid := range pids {
			n, err := strconv.Atoi(pid)
			if err == nil && n > 0 {
				err = unix.Kill(n, 0)
			}
			if err != unix.ESRCH {
				t.Errorf("%s: process %s is there: %v", how, pid, err)
			}
		}
	}
}

// procs are the processes of a group.
func procs(t *testing.T, dir string) []string {
	t.Helper()
	if dir == "" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(b))
}

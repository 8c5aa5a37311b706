package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestSignalEndsTheComparison: a signal that comes when the payload has ended, and its changes are compared with what
// was there, ends that: the code is 123, and stderr tells it.
func TestSignalEndsTheComparison(t *testing.T) {
	for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
		dir := t.TempDir()
		old := filepath.Join(must.Get(filepath.EvalSymlinks(dir))(t), "old")
		must.Do(t, os.WriteFile(old, nil, 0o644))
		must.Do(t, os.Truncate(old, 1000<<20)) // its digest takes a second
		cmd := exec.Command(brigBinary(t), "run", "--cow", dir, "--", "rm", "old")
		cmd.Env = append(os.Environ(), "BRIG_CHANGES="+t.TempDir())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		must.Do(t, cmd.Start())
		for !reads(cmd.Process.Pid, old) && procField(cmd.Process.Pid, "comm") != "" && !strings.Contains(procField(cmd.Process.Pid, "status"), "zombie") {
			time.Sleep(time.Millisecond)
		}
		must.Do(t, cmd.Process.Signal(sig))
		_ = cmd.Wait() // an *exec.ExitError
		if code := cmd.ProcessState.ExitCode(); code != 123 || !strings.Contains(stderr.String(), "a signal has ended the comparison") {
			t.Errorf("%s: exit code %d: %s", sig, code, stderr.String())
		}
	}
}

// reads reports whether a process has a file open.
func reads(pid int, path string) bool {
	fds := fmt.Sprintf("/proc/%d/fd/", pid)
	list, _ := os.ReadDir(fds) // it may have ended
	for _, f := range list {
		if to, _ := os.Readlink(fds + f.Name()); to == path {
			return true
		}
	}
	return false
}

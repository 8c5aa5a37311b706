package main

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestSignalsThatAskForTheEnd: a payload that ignores them has a time for its end, and no more. The limit on time is a
// jail's that would otherwise go on.
func TestSignalsThatAskForTheEnd(t *testing.T) {
	const deaf, polite = `trap "" TERM HUP INT; echo ready; while :; do sleep 0.1; done`, `trap "exit 7" TERM; echo ready; while :; do sleep 0.1; done`
	late := "brig: the payload had not ended 300ms after the signal, and was killed (--grace)\n"
	for _, c := range []struct {
		name, flags, script string
		signals             []syscall.Signal
		code                int
		stderr              string
	}{
		{"TERM", "--timeout 20s --grace 0.3", deaf, []syscall.Signal{unix.SIGTERM}, 137, late},
		{"HUP, without init", "--timeout 20s --grace 0.3 --no-init", deaf, []syscall.Signal{unix.SIGHUP}, 137, late},
		{"one INT", "--timeout 1s", deaf, []syscall.Signal{unix.SIGINT}, 124, "brig: the wall-clock limit of 1s ended the jail (--timeout)\n"},
		{"two INT", "--timeout 20s --grace 0.3", deaf, []syscall.Signal{unix.SIGINT, unix.SIGINT}, 137, late},
		{"TERM again and again", "--timeout 20s --grace 0.3", deaf, []syscall.Signal{unix.SIGTERM, unix.SIGTERM, unix.SIGHUP}, 137, late},
		{"a payload that ends", "--timeout 20s --grace 10s", polite, []syscall.Signal{unix.SIGTERM}, 7, ""},
		{"ABRT", "--timeout 20s", "echo ready; exec sleep 100", []syscall.Signal{unix.SIGABRT}, 134, "brig: aborted (SIGABRT)\n"},
		{"a payload without a handler", "--timeout 20s", "echo ready; exec sleep 100", []syscall.Signal{unix.SIGTERM}, 143, "brig: terminated (SIGTERM)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // they wait
			cmd := exec.Command(brigBinary(t), append(append([]string{"run"}, strings.Fields(c.flags)...), "--", "sh", "-c", c.script)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out := must.Get(cmd.StdoutPipe())(t)
			must.Do(t, cmd.Start())
			r := bufio.NewReader(out)
			if line, err := r.ReadString('\n'); err != nil {
				t.Fatal(line, err)
			}
			for _, s := range c.signals {
				must.Do(t, cmd.Process.Signal(s))
				handled(t, cmd.Process.Pid)
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // an *exec.ExitError
			if code := cmd.ProcessState.ExitCode(); code != c.code || stderr.String() != c.stderr {
				t.Errorf("exit code %d, stderr %q; want %d, %q", code, stderr.String(), c.code, c.stderr)
			}
		})
	}
}

// handled waits until a signal is not pending any more, so that the next one of its kind counts: signal(7). What was
// pending when a process ended stays so until somebody waits for it.
func handled(t *testing.T, pid int) {
	t.Helper()
	for {
		status := procField(pid, "status")
		_, pending, _ := strings.Cut(status, "ShdPnd:\t")
		pending, _, _ = strings.Cut(pending, "\n")
		if strings.Trim(pending, "0") == "" || strings.Contains(status, "\nState:\tZ") {
			return
		}
	}
}

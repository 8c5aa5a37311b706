package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// TestLearnKilled: a brig learn that is killed takes its jail with it.
func TestLearnKilled(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(brigBinary(t), "learn", "--", "sh", "-c", "echo ready; exec sleep 1000")
	r, err := cmd.StderrPipe() // the command's output
	must.Do(t, err)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	must.Do(t, cmd.Start())
	if line, err := bufio.NewReader(r).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	var pidfds []int
	for _, pid := range sys.Descendants(cmd.Process.Pid) {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			pidfds = append(pidfds, fd)
		}
	}
	if len(pidfds) < 2 { // brig run, and at least init
		t.Fatalf("only %d processes", len(pidfds))
	}
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for _, fd := range pidfds {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(p, 20_000); n != 1 || err != nil {
			t.Errorf("a process of the jail is left: %d, %v", n, err)
		}
		unix.Close(fd)
	}
}

// TestLearnStorm: payloads that fork without end, stop themselves, start programs or fail with ever new names do not
// keep the clock from ending the jail, and what they leave is bounded.
func TestLearnStorm(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/bin/python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	const storm = `import os, signal
for what in range(4):
    if os.fork() == 0: break
n = 0
while True:
    n += 1
    try:
        if what == 3: os.mkdir("/" + "x/" * 1900 + str(n) + "\udcff\x1b[31m")
        elif os.fork() == 0:
            if what == 1: os.kill(os.getpid(), signal.SIGSTOP)
            if what == 2: os.execv("/bin/true", ["true"])
    except OSError: pass`
	cmd := exec.Command(brigBinary(t), "learn", "--json", "--rounds", "1", "--timeout", "1s", "--", "/usr/bin/python3", "-c", storm)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	out, _ := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != 124 || len(out) > 1<<20 || bytes.ContainsRune(out, 0x1b) {
		t.Errorf("exit code %d, %d bytes of answer", code, len(out))
	}
}

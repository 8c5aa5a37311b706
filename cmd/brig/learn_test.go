package main

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLearnKilled: a brig learn that is killed takes its jail with it.
func TestLearnKilled(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(brigBinary(t), "learn", "--", "sh", "-c", "echo ready; exec sleep 1000")
	r, err := cmd.StderrPipe() // the command's output
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(r).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	var pidfds []int
	for _, pid := range descendants(cmd.Process.Pid) {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			pidfds = append(pidfds, fd)
		}
	}
	if len(pidfds) < 2 { // brig run, and at least init
		t.Fatalf("only %d processes", len(pidfds))
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, fd := range pidfds {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(p, 20_000); n != 1 || err != nil {
			t.Errorf("a process of the jail is left: %d, %v", n, err)
		}
		unix.Close(fd)
	}
}

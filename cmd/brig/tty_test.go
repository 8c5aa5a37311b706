package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"brig/internal/test/pty"
)

// onTerminal starts brig in a session whose controlling terminal is a new pseudo-terminal.
func onTerminal(t *testing.T, args ...string) *pty.Terminal {
	t.Helper()
	c := pty.Open(t)
	cmd := exec.Command(brigBinary(t), args...)
	cmd.Env = []string{"TERM=screen", "PATH=" + os.Getenv("PATH"), "PS1=unused"}
	c.Start(cmd)
	return c
}

// TestTerminal is somebody who works in `brig run --tty -- bash`.
func TestTerminal(t *testing.T) {
	for _, p := range []string{"/usr/bin/bash", "/usr/bin/perl"} {
		if _, err := os.Stat(p); err != nil {
			t.Skip(err)
		}
	}
	c := onTerminal(t, "run", "--tty", "--env", "PS1=PROMPT> ", "--", "bash", "--norc", "--noprofile", "-i")
	c.See("PROMPT> ")
	for command, want := range map[string]string{
		"tty": "/dev/pts/0\r\n", "stty size": "33 101\r\n", "echo T=$TERM": "T=screen\r\n", "test -t 0 -a -t 1 -a -t 2 && echo all''three": "allthree\r\n",
		"echo n=$(ls -l /proc/self/fd/0 | grep -c /dev/pts/0)": "n=1\r\n", "echo col''our >/dev/tty": "colour\r\n",
	} {
		c.Keys(command + "\r")
		c.See(want)
		c.See("PROMPT> ")
	}
	c.Resize(40, 120)
	c.Keys("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.02; done; echo re''sized\r")
	c.See("resized\r\n")
	c.See("PROMPT> ")
	c.Keys("sh -c 'echo be\"\"gin; exec sleep 1000'\r")
	c.See("begin\r\n")
	c.Keys("\x03")
	c.See("^C")
	c.See("PROMPT> ")
	c.Keys("echo code=$?\r")
	c.See("code=130\r\n")
	// one process, without forks: a stop between vfork(2) and execve(2) would hang any shell
	c.Keys("perl -e '$SIG{CONT}=sub{print \"con\",\"tinued\\n\"}; $|=1; print \"be\",\"gin\\n\"; sleep 1 while 1'\r")
	c.See("begin\r\n")
	c.Keys("\x1a")
	c.See("Stopped")
	c.See("PROMPT> ")
	c.Keys("fg\r")
	c.See("continued\r\n")
	c.Keys("\x03")
	c.See("PROMPT> ")
	c.Keys("sh -c 'echo be\"\"gin; exec cat'\r")
	c.See("begin\r\n")
	c.Keys("line\r\x04")
	c.See("line\r\nline\r\n")
	c.Keys("exit 7\r")
	if code := c.Exit(); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
}

func TestTerminalIsRestored(t *testing.T) {
	for _, run := range []struct {
		args []string
		want int
		says string
	}{
		{[]string{"--", "sh", "-c", "stty raw -echo; exit 3"}, 3, ""},
		{[]string{"--", "no-such-command"}, 127, "no-such-command"},
		{[]string{"--workdir", "/no/such", "--", "true"}, 125, "--workdir"},
		{[]string{"--timeout", "50ms", "--", "sleep", "1000"}, 124, "wall-clock limit"},
		{[]string{"--", "sh", "-c", "kill -KILL $$"}, 137, ""},
	} {
		c := onTerminal(t, "version")
		c.Exit()
		before := c.Modes()
		c.Start(exec.Command(brigBinary(t), append([]string{"run", "--tty"}, run.args...)...))
		if code := c.Exit(); code != run.want {
			t.Errorf("%q: exit code %d, want %d", run.args, code, run.want)
		}
		if after := c.Modes(); after != before {
			t.Errorf("%q: the terminal is %+v, before %+v", run.args, after, before)
		}
		if run.says != "" {
			c.See(run.says)
			c.See("\r\n") // no staircase: the terminal was restored before the message
		}
	}
}

func TestTTYWithoutATerminal(t *testing.T) {
	cmd := exec.Command(brigBinary(t), "run", "--tty", "--", "true")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 125 || !strings.Contains(string(out), "--tty: stdin is not a terminal") {
		t.Errorf("exit code %d, %q, %v", code, out, err)
	}
}

// TestKeysWithoutTTY: Ctrl-C at the terminal is a SIGINT to brig, which passes it on.
func TestKeysWithoutTTY(t *testing.T) {
	c := onTerminal(t, "run", "--", "sh", "-c", `trap 'echo cau""ght; exit 5' INT; echo re""ady; while :; do sleep 0.02; done`)
	c.See("ready")
	c.Keys("\x03")
	c.See("caught")
	if code := c.Exit(); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}
	c = onTerminal(t, "run", "--", "sh", "-c", "echo re''ady; exec sleep 1000")
	c.See("ready")
	c.Keys("\x03")
	if code := c.Exit(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// tty is a terminal with somebody at it: what a program prints is read as it comes, and keys can be typed.
type tty struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	cmd    *exec.Cmd

	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

// onTerminal starts brig in a session whose controlling terminal is a new pseudo-terminal of 33 by 101: pty(7).
func onTerminal(t *testing.T, args ...string) *tty {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	must.Do(t, err)
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must.Do(t, err)
	must.Do(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	c := &tty{t: t, master: os.NewFile(uintptr(fd), "ptmx"), more: make(chan struct{}, 1)}
	c.resize(33, 101)
	if c.slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	c.cmd = exec.Command(brigBinary(t), args...)
	c.cmd.Env = []string{"TERM=screen", "PATH=" + os.Getenv("PATH"), "PS1=unused"}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = c.slave, c.slave, c.slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	must.Do(t, c.cmd.Start())
	go c.read()
	t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // an error says that it has ended
		c.slave.Close()
		c.master.Close()
	})
	return c
}

func (c *tty) read() {
	buf := make([]byte, 4096)
	for {
		n, err := c.master.Read(buf)
		c.mu.Lock()
		c.text.Write(buf[:n])
		c.mu.Unlock()
		select {
		case c.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (c *tty) resize(rows, cols uint16) {
	c.t.Helper()
	rc, err := c.master.SyscallConn()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := rc.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
	}); err != nil {
		c.t.Fatal(err)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *tty) keys(s string) {
	c.t.Helper()
	if _, err := c.master.WriteString(s); err != nil {
		c.t.Fatal(err)
	}
}

// see waits until the terminal shows a text, and forgets all up to its end.
func (c *tty) see(want string) {
	c.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		c.mu.Lock()
		i := bytes.Index(c.text.Bytes(), []byte(want))
		if i >= 0 {
			c.text.Next(i + len(want))
		}
		shown := c.text.String()
		c.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-c.more:
		case <-deadline:
			c.t.Fatalf("the terminal does not show %q but %q", want, shown)
		}
	}
}

// exit waits for brig and returns its exit code.
func (c *tty) exit() int {
	c.t.Helper()
	// the error is an *exec.ExitError or none: the streams are files
	_ = c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

func (c *tty) termios() unix.Termios {
	c.t.Helper()
	v, err := unix.IoctlGetTermios(int(c.slave.Fd()), unix.TCGETS)
	if err != nil {
		c.t.Fatal(err)
	}
	return *v
}

// TestTerminal is somebody who works in `brig run --tty -- bash`.
func TestTerminal(t *testing.T) {
	for _, p := range []string{"/usr/bin/bash", "/usr/bin/perl"} {
		if _, err := os.Stat(p); err != nil {
			t.Skip(err)
		}
	}
	c := onTerminal(t, "run", "--tty", "--env", "PS1=PROMPT> ", "--", "bash", "--norc", "--noprofile", "-i")
	c.see("PROMPT> ")
	for command, want := range map[string]string{
		"tty": "/dev/pts/0\r\n", "stty size": "33 101\r\n", "echo T=$TERM": "T=screen\r\n", "test -t 0 -a -t 1 -a -t 2 && echo all''three": "allthree\r\n",
		"echo n=$(ls -l /proc/self/fd/0 | grep -c /dev/pts/0)": "n=1\r\n", "echo col''our >/dev/tty": "colour\r\n",
	} {
		c.keys(command + "\r")
		c.see(want)
		c.see("PROMPT> ")
	}
	c.resize(40, 120)
	c.keys("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.02; done; echo re''sized\r")
	c.see("resized\r\n")
	c.see("PROMPT> ")
	c.keys("sh -c 'echo be\"\"gin; exec sleep 1000'\r")
	c.see("begin\r\n")
	c.keys("\x03")
	c.see("^C")
	c.see("PROMPT> ")
	c.keys("echo code=$?\r")
	c.see("code=130\r\n")
	// one process, without forks: a stop between vfork(2) and execve(2) would hang any shell
	c.keys("perl -e '$SIG{CONT}=sub{print \"con\",\"tinued\\n\"}; $|=1; print \"be\",\"gin\\n\"; sleep 1 while 1'\r")
	c.see("begin\r\n")
	c.keys("\x1a")
	c.see("Stopped")
	c.see("PROMPT> ")
	c.keys("fg\r")
	c.see("continued\r\n")
	c.keys("\x03")
	c.see("PROMPT> ")
	c.keys("sh -c 'echo be\"\"gin; exec cat'\r")
	c.see("begin\r\n")
	c.keys("line\r\x04")
	c.see("line\r\nline\r\n")
	c.keys("exit 7\r")
	if code := c.exit(); code != 7 {
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
		c.exit()
		before := c.termios()
		c.start(append([]string{brigBinary(t), "run", "--tty"}, run.args...)...)
		if code := c.exit(); code != run.want {
			t.Errorf("%q: exit code %d, want %d", run.args, code, run.want)
		}
		if after := c.termios(); after != before {
			t.Errorf("%q: the terminal is %+v, before %+v", run.args, after, before)
		}
		if run.says != "" {
			c.see(run.says)
			c.see("\r\n") // no staircase: the terminal was restored before the message
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
	c.see("ready")
	c.keys("\x03")
	c.see("caught")
	if code := c.exit(); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}
	c = onTerminal(t, "run", "--", "sh", "-c", "echo re''ady; exec sleep 1000")
	c.see("ready")
	c.keys("\x03")
	if code := c.exit(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

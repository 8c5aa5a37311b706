package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminalState is what a payload could change of a terminal that its caller has.
type terminalState struct {
	modes            unix.Termios
	flags            int
	uid, gid, access uint32
}

func (c *console) state() (s terminalState) {
	c.t.Helper()
	var st unix.Stat_t
	flags, err := unix.FcntlInt(c.slave.Fd(), unix.F_GETFL, 0)
	if err == nil {
		err = unix.Fstat(int(c.slave.Fd()), &st)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return terminalState{c.termios(), flags, st.Uid, st.Gid, st.Mode}
}

// start runs a program at the terminal, which has been used before, in a session of its own.
func (c *console) start(args ...string) {
	c.t.Helper()
	c.cmd = exec.Command(args[0], args[1:]...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = c.slave, c.slave, c.slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

// TestLentTerminal: without --tty the payload has the caller's terminal, and the caller has it back as it was.
func TestLentTerminal(t *testing.T) {
	// nohup(1) may have started the tests: a signal that is caught has its default action in the programs that they start.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	const spoil = "stty raw -echo intr e; echo x >/dev/stderr; "
	for _, run := range []struct {
		args []string
		sig  syscall.Signal
		want int
	}{
		{[]string{"--", "sh", "-c", spoil + "exit 3"}, 0, 3},
		{[]string{"--timeout", "500ms", "--", "sh", "-c", spoil + "sleep 1000"}, 0, 124},
		{[]string{"--", "sh", "-c", spoil + "echo re''ady; sleep 1000"}, syscall.SIGTERM, 143},
		{[]string{"--", "sh", "-c", spoil + "echo re''ady; sleep 1000"}, syscall.SIGHUP, 129},
		{[]string{"--", "python3", "-c", "import fcntl; fcntl.fcntl(0, fcntl.F_SETFL, 0o6000)"}, 0, 0},
		{[]string{"--workdir", "/no/such", "--", "true"}, 0, 125},
	} {
		c := onTerminal(t, "version")
		c.exit()
		before := c.state()
		c.start(append([]string{brigBinary(t), "run"}, run.args...)...)
		if run.sig != 0 {
			c.see("ready")
			if err := c.cmd.Process.Signal(run.sig); err != nil {
				t.Fatal(err)
			}
		}
		if code := c.exit(); code != run.want {
			t.Errorf("%q: exit code %d, want %d", run.args, code, run.want)
		}
		if after := c.state(); after != before {
			t.Errorf("%q: the terminal is %+v, before %+v", run.args, after, before)
		}
	}
}

// TestLentTerminalInTheBackground: brig does not set the modes of a terminal that somebody else uses by now, which
// would also stop it.
func TestLentTerminalInTheBackground(t *testing.T) {
	c := onTerminal(t, "version")
	c.exit()
	before := c.state()
	c.start("bash", "-c", `set -m; "$0" run -- stty -echo & wait $!; echo co''de=$?`, brigBinary(t))
	c.see("code=0")
	c.exit()
	after := c.state()
	if before.modes.Lflag&^unix.ECHO != after.modes.Lflag {
		t.Errorf("the modes are %#o, they were %#o", after.modes.Lflag, before.modes.Lflag)
	}
	after.modes.Lflag = before.modes.Lflag
	if after != before {
		t.Errorf("the terminal is %+v, before %+v", after, before)
	}
}

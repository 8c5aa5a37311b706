package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"brig/internal/test/long"

	"golang.org/x/sys/unix"
)

// terminalState is what a payload could change of a terminal that its caller has.
type terminalState struct {
	modes            unix.Termios
	flags            int
	uid, gid, access uint32
}

func (c *tty) state() (s terminalState) {
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
func (c *tty) start(args ...string) {
	c.t.Helper()
	c.cmd = exec.Command(args[0], args[1:]...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = c.slave, c.slave, c.slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
}

// TestLentTerminal: without --tty the payload has a terminal in place of the caller's, which stays as it was.
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

// TestJobInTheBackground: a payload that reads the terminal, or sets its modes, is stopped there as any program is, and
// what is typed is the shell's. It goes on in the foreground.
func TestJobInTheBackground(t *testing.T) {
	long.Test(t) // what is typed at once after fg may still be lost on a busy machine
	for _, tier := range []string{"", "--tier process "} {
		c := onTerminal(t, "version")
		c.exit()
		before := c.state()
		c.start("bash", "--norc", "--noprofile", "-i")
		prompt := func() { c.see("PROMPT> ") }
		c.keys("PS1='PRO''MPT> '\r")
		prompt()
		run := brigBinary(t) + " run " + tier + "-- "
		stopped := func() {
			c.keys("until jobs | grep -q Stopped; do sleep 0.02; done; echo is sto''pped\r")
			c.see("is stopped\r\n")
		}
		c.keys(run + "sh -c 'while read x; do echo LOG=$x; done' &\r")
		stopped()
		c.keys("echo mi''ne\r")
		c.see("mine\r\n")
		c.keys("fg\r")
		c.keys("one\r")
		c.see("LOG=one\r\n")
		c.keys("\x1a")
		c.see("Stopped")
		c.keys("bg\r")
		stopped()
		c.keys("fg\r")
		c.keys("two\r")
		c.see("LOG=two\r\n")
		c.keys("\x04")
		prompt()
		c.keys(run + "stty -echo &\r")
		stopped()
		c.keys("fg\r")
		c.see("stty -echo\r\n")
		prompt()
		c.keys("stty tostop; " + run + "echo OU''T &\r")
		stopped()
		c.keys("fg\r")
		c.see("OUT\r\n")
		prompt()
		c.keys("stty -tostop\r")
		prompt()
		// a shell's kill ends a job that has stopped: it sends the signal and SIGCONT
		for _, end := range []struct{ modes, kill, job, code string }{
			{"", "kill", "sh -c 'while read x; do :; done'", "143"},
			{"", "kill -HUP", "sh -c 'while read x; do :; done'", "129"},
			{"", "kill", "sh -c 'trap \"sleep 0.3; exit 3\" TERM; while read x; do :; done'", "3"},
			{"", "kill", "stty -echo", "143"},
			{"stty tostop; ", "kill", "sh -c 'echo OUT; exec sleep 1000' 2>/dev/null", "143"},
		} {
			c.keys(end.modes + run + end.job + " &\r")
			stopped()
			c.keys(end.kill + " %1; while jobs -s | grep -q .; do sleep 0.02; done; wait $!; " +
				"echo code''=$?; stty -tostop\r")
			c.see("code=" + end.code + "\r\n")
			prompt()
		}
		// one that does neither goes on
		c.keys("stty -tostop; " + run + "sh -c 'test -t 0 -a -t 1 -a -t 2 && sleep 0.1' & wait $!; echo code''=$?\r")
		c.see("code=0\r\n")
		c.keys("exit 0\r")
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if after := c.state(); after != before {
			t.Errorf("the terminal is %+v, before %+v", after, before)
		}
	}
}

// TestPipelineAtATerminal: brig takes nothing from the terminal that its payload does not ask for: the next program may.
func TestPipelineAtATerminal(t *testing.T) {
	c := onTerminal(t, "version")
	c.exit()
	c.start("bash", "-c", `"$0" run -- sh -c "echo re''ady; sleep 0.2" | { read a; echo $a; read b </dev/tty; echo go''t=$b; }`, brigBinary(t))
	c.see("ready\r\n")
	c.keys("typed\r")
	c.see("got=typed\r\n")
	c.exit()
}

package main

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"brig/internal/test/long"
	"brig/internal/test/pty"

	"golang.org/x/sys/unix"
)

// terminalState is what a payload could change of a terminal that its caller has.
type terminalState struct {
	modes            unix.Termios
	flags            int
	uid, gid, access uint32
}

func stateOf(t *testing.T, c *pty.Terminal) (s terminalState) {
	t.Helper()
	var st unix.Stat_t
	flags, err := unix.FcntlInt(c.Slave.Fd(), unix.F_GETFL, 0)
	if err == nil {
		err = unix.Fstat(int(c.Slave.Fd()), &st)
	}
	if err != nil {
		t.Fatal(err)
	}
	return terminalState{c.Modes(), flags, st.Uid, st.Gid, st.Mode}
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
		c.Exit()
		before := stateOf(t, c)
		c.Start(exec.Command(brigBinary(t), append([]string{"run"}, run.args...)...))
		if run.sig != 0 {
			c.See("ready")
			if err := c.Cmd.Process.Signal(run.sig); err != nil {
				t.Fatal(err)
			}
		}
		if code := c.Exit(); code != run.want {
			t.Errorf("%q: exit code %d, want %d", run.args, code, run.want)
		}
		if after := stateOf(t, c); after != before {
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
		c.Exit()
		before := stateOf(t, c)
		c.Start(exec.Command("bash", "--norc", "--noprofile", "-i"))
		prompt := func() { c.See("PROMPT> ") }
		c.Keys("PS1='PRO''MPT> '\r")
		prompt()
		run := brigBinary(t) + " run " + tier + "-- "
		stopped := func() {
			c.Keys("until jobs | grep -q Stopped; do sleep 0.02; done; echo is sto''pped\r")
			c.See("is stopped\r\n")
		}
		c.Keys(run + "sh -c 'while read x; do echo LOG=$x; done' &\r")
		stopped()
		c.Keys("echo mi''ne\r")
		c.See("mine\r\n")
		c.Keys("fg\r")
		c.Keys("one\r")
		c.See("LOG=one\r\n")
		c.Keys("\x1a")
		c.See("Stopped")
		c.Keys("bg\r")
		stopped()
		c.Keys("fg\r")
		c.Keys("two\r")
		c.See("LOG=two\r\n")
		c.Keys("\x04")
		prompt()
		c.Keys(run + "stty -echo &\r")
		stopped()
		c.Keys("fg\r")
		c.See("stty -echo\r\n")
		prompt()
		c.Keys("stty tostop; " + run + "echo OU''T &\r")
		stopped()
		c.Keys("fg\r")
		c.See("OUT\r\n")
		prompt()
		c.Keys("stty -tostop\r")
		prompt()
		// a shell's kill ends a job that has stopped: it sends the signal and SIGCONT
		for _, end := range []struct{ modes, kill, job, code string }{
			{"", "kill", "sh -c 'while read x; do :; done'", "143"},
			{"", "kill -HUP", "sh -c 'while read x; do :; done'", "129"},
			{"", "kill", "sh -c 'trap \"sleep 0.3; exit 3\" TERM; while read x; do :; done'", "3"},
			{"", "kill", "stty -echo", "143"},
			{"stty tostop; ", "kill", "sh -c 'echo OUT; exec sleep 1000' 2>/dev/null", "143"},
		} {
			c.Keys(end.modes + run + end.job + " &\r")
			stopped()
			c.Keys(end.kill + " %1; while jobs -s | grep -q .; do sleep 0.02; done; wait $!; " +
				"echo code''=$?; stty -tostop\r")
			c.See("code=" + end.code + "\r\n")
			prompt()
		}
		// one that does neither goes on
		c.Keys("stty -tostop; " + run + "sh -c 'test -t 0 -a -t 1 -a -t 2 && sleep 0.1' & wait $!; echo code''=$?\r")
		c.See("code=0\r\n")
		c.Keys("exit 0\r")
		if code := c.Exit(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		if after := stateOf(t, c); after != before {
			t.Errorf("the terminal is %+v, before %+v", after, before)
		}
	}
}

// TestPipelineAtATerminal: brig takes nothing from the terminal that its payload does not ask for: the next program may.
func TestPipelineAtATerminal(t *testing.T) {
	c := onTerminal(t, "version")
	c.Exit()
	c.Start(exec.Command("bash", "-c", `"$0" run -- sh -c "echo re''ady; sleep 0.2" | { read a; echo $a; read b </dev/tty; echo go''t=$b; }`, brigBinary(t)))
	c.See("ready\r\n")
	c.Keys("typed\r")
	c.See("got=typed\r\n")
	c.Exit()
}

package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"brig/internal/test/must"
	"brig/internal/test/pty"
)

// person is somebody at a terminal who uses brigd box.
type person struct {
	*pty.Terminal
	t      *testing.T
	socket string
	box    string
}

// atTerminal starts a brigd with a box, and opens a terminal.
func atTerminal(t *testing.T) (*proc, *person) {
	t.Helper()
	d := dir(t)
	p := begin(t, nil, "serve", "--listen", "unix:"+d+"/s")
	c := &person{Terminal: pty.Open(t), t: t, socket: d + "/s"}
	c.box = strings.TrimSpace(c.runs("new"))
	return p, c
}

func (c *person) command(args ...string) *exec.Cmd {
	cmd := exec.Command(brigd(c.t), append([]string{"box"}, args...)...)
	cmd.Env = append(os.Environ(), "BRIGD_SOCKET="+c.socket, "TERM=screen")
	return cmd
}

// runs returns the output of a command that is not at the terminal.
func (c *person) runs(args ...string) string {
	c.t.Helper()
	return string(must.Get(c.command(args...).Output())(c.t))
}

// begins runs a command at the terminal.
func (c *person) begins(args ...string) {
	c.t.Helper()
	c.Start(c.command(args...))
}

// ends waits for the end of the command, and for its exit code.
func (c *person) ends(want int) {
	c.t.Helper()
	if code := c.Exit(); code != want {
		c.t.Errorf("exit code %d, want %d: %q", code, want, c.Shown())
	}
}

// A terminal in a box is as one's own: its size, keys, signals and modes.
func TestBoxTerminal(t *testing.T) {
	_, c := atTerminal(t)
	before := c.Modes()
	c.begins("exec", "-t", "-e", "PS1=PROMPT> ", c.box, "--", "bash", "--norc", "--noprofile", "-i")
	c.See("PROMPT> ")
	for command, want := range map[string]string{"stty size": "33 101\r\n", "echo T=$TERM": "T=screen\r\n",
		"test -t 0 -a -t 1 -a -t 2 && echo all''three": "allthree\r\n", "printf '\\033[1mbo''ld\\n'": "\x1b[1mbold\r\n"} {
		c.Keys(command + "\r")
		c.See(want)
		c.See("PROMPT> ")
	}
	c.Resize(40, 120)
	c.Keys("until [ \"$(stty size)\" = '40 120' ]; do sleep 0.02; done; echo re''sized\r")
	c.See("resized\r\n")
	c.Keys("sh -c 'echo be\"\"gin; exec sleep 1000'\r")
	c.See("begin\r\n")
	c.Keys("\x03")
	c.See("^C")
	c.See("PROMPT> ")
	c.Keys("\r~?")
	c.See("~. ends the session")
	c.Keys("exit 7\r")
	c.ends(7)
	if after := c.Modes(); after != before {
		t.Errorf("the terminal is %+v, before %+v", after, before)
	}
}

// A process that is left by ~. goes on, and is attached again. One that was begun by exec ends with it.
func TestBoxDetach(t *testing.T) {
	_, c := atTerminal(t)
	before := c.Modes()
	name := strings.TrimSpace(c.runs("exec", "-d", "-t", "-e", "PS1=PROMPT> ", c.box, "--", "bash", "--norc", "--noprofile", "-i"))
	c.begins("attach", c.box, name)
	c.Press("\r", "PROMPT> ")
	c.Keys("X=kept\r~.")
	c.See("brigd: left; the process goes on\r\n")
	c.ends(0)
	c.begins("attach", c.box, name)
	c.Press("\r", "PROMPT> ")
	c.Keys("echo X=$X $(stty size)\r")
	c.See("X=kept 33 101\r\n")
	c.Keys("exit 5\r")
	c.ends(5)
	c.begins("exec", "-t", c.box, "--", "sh", "-c", "stty raw -isig; echo ready; trap '' HUP TERM; while :; do sleep 1; done")
	c.See("ready")
	c.Keys("\x03\r~.")
	c.See("brigd: ~. has ended the process\r\n")
	c.ends(137)
	soon(t, "the process has ended", func() bool { return !strings.Contains(c.runs("ps", c.box), "running") })
	if after := c.Modes(); after != before {
		t.Errorf("the terminal is %+v, before %+v", after, before)
	}
}

// The terminal is as it was after each way to end a session.
func TestBoxTerminalIsRestored(t *testing.T) {
	p, c := atTerminal(t)
	before := c.Modes()
	spoil := []string{"exec", "-t", c.box, "--", "sh", "-c", "trap 'echo heard' TERM; stty -echo; echo re''ady; while :; do sleep .02; done"}
	for _, x := range []struct {
		name string
		end  func()
		want int
	}{
		{"a second signal", func() {
			must.Do(t, c.Cmd.Process.Signal(syscall.SIGTERM))
			c.See("heard")
			must.Do(t, c.Cmd.Process.Signal(syscall.SIGTERM))
		}, 143},
		{"the end of the process", func() { c.runs("exec", c.box, "--", "pkill", "-KILL", "-f", "heard") }, 137},
		{"the end of brigd", func() { p.signal(syscall.SIGKILL) }, 125},
	} {
		c.begins(spoil...)
		c.See("ready")
		x.end()
		c.ends(x.want)
		if after := c.Modes(); after != before {
			t.Errorf("%s: the terminal is %+v, before %+v", x.name, after, before)
		}
	}
}

// ~^Z suspends the session, as Ctrl-Z does a program, and fg goes on with it.
func TestBoxSuspend(t *testing.T) {
	_, c := atTerminal(t)
	sh := c.command()
	sh.Path, sh.Args = must.Get(exec.LookPath("bash"))(t), []string{"bash", "--norc", "--noprofile", "-i"}
	c.Start(sh)
	c.Keys("PS1='OUT''SIDE> '\r")
	c.See("OUTSIDE> ")
	c.Keys(brigd(t) + " box exec -t -e PS1='IN''SIDE> ' " + c.box + " -- bash --norc --noprofile -i\r")
	c.See("INSIDE> ")
	c.Keys("\r~\x1a")
	c.See("Stopped")
	c.See("OUTSIDE> ")
	c.Keys("stty -a | grep -o ' icanon'\r")
	c.See(" icanon")
	c.Keys("fg\r")
	c.Press("\r", "INSIDE> ")
	c.Keys("exit 3\r")
	c.See("OUTSIDE> ")
	c.Keys("echo co''de=$?\r")
	c.See("code=3")
	c.Keys("exit\r")
	c.Exit()
}

// Without a terminal of its own, a process does not steer that of who looks at it.
func TestBoxCleans(t *testing.T) {
	_, c := atTerminal(t)
	const steers = "printf '\\033]0;title\\007be\\033[2Jgin\\302\\233 e\\rnd\\n' | tee /dev/stderr"
	for _, args := range [][]string{{"exec", "--tag", "job", c.box, "--", "sh", "-c", steers}, {"logs", c.box, "job"}} {
		c.begins(args...)
		c.See("begin")
		c.ends(0)
		if shown := c.Shown(); strings.ContainsAny(shown, "\x1b\x07") || strings.Contains(shown, "\u009b") || strings.Contains(shown, "title") {
			t.Errorf("%q: %q", args, shown)
		}
	}
	if piped := c.runs("logs", c.box, "job"); !strings.Contains(piped, "\x1b]0;title\x07be\x1b[2J") {
		t.Errorf("a pipe has %q", piped)
	}
}

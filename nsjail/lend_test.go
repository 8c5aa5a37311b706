package nsjail

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"brig/internal/test/asuser"
	"brig/internal/test/must"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// callersFile is one that a payload gets as a stream, and the far end of it.
type callersFile struct {
	near *os.File
	far  io.ReadWriteCloser // nil: there is none
}

// arrived returns what the payload has written, once nobody else can write any more.
func (f callersFile) arrived(t *testing.T) string {
	t.Helper()
	if f.far == nil {
		b, err := os.ReadFile(f.near.Name())
		if err != nil {
			t.Error(err)
		}
		return string(b)
	}
	f.near.Close()
	b, _ := io.ReadAll(f.far) // a terminal's end is an error
	return strings.ReplaceAll(string(b), "\r", "")
}

// callersFiles are the kinds of files that callers have; in is for stdin, which the text "x\n" can be read from.
var callersFiles = map[string]func(t *testing.T, in bool) callersFile{
	"pipe": func(t *testing.T, in bool) callersFile {
		r, w, err := os.Pipe()
		return ends(t, in, r, w, err)
	},
	"FIFO": func(t *testing.T, in bool) callersFile {
		name := filepath.Join(t.TempDir(), "fifo")
		must.Do(t, unix.Mkfifo(name, 0o600))
		r, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
		must.Do(t, err)
		w, err := os.OpenFile(name, os.O_WRONLY, 0)
		return ends(t, in, r, w, err)
	},
	"socket": func(t *testing.T, in bool) callersFile {
		p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		must.Do(t, err)
		far := os.NewFile(uintptr(p[1]), "far")
		conn, err := net.FileConn(far)
		far.Close()
		if err == nil && in {
			_, err = io.WriteString(conn, "x\n")
		}
		return callersFile{keep(t, os.NewFile(uintptr(p[0]), "socket"), err), conn.(*net.UnixConn)}
	},
	"terminal": func(t *testing.T, in bool) callersFile {
		master, slave := pseudoTerminal(t)
		if in {
			fmt.Fprintln(master, "x")
		}
		return callersFile{slave, master}
	},
	"file": func(t *testing.T, in bool) callersFile { return regular(t, in, os.O_RDONLY, os.O_WRONLY) },
	"log":  func(t *testing.T, in bool) callersFile { return regular(t, in, os.O_RDWR, os.O_RDWR|os.O_APPEND) },
	"null": func(t *testing.T, in bool) callersFile {
		f, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		return callersFile{keep(t, f, err), nil}
	},
}

func ends(t *testing.T, in bool, r, w *os.File, err error) callersFile {
	keep(t, r, err)
	keep(t, w, err)
	if in {
		fmt.Fprintln(w, "x")
		return callersFile{r, w}
	}
	return callersFile{w, r}
}

func regular(t *testing.T, in bool, input, output int) callersFile {
	name := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(name, []byte("x\n"), 0o600))
	if !in {
		input = output
		must.Do(t, os.Truncate(name, 0))
	}
	f, err := os.OpenFile(name, input, 0)
	return callersFile{keep(t, f, err), nil}
}

func keep(t *testing.T, f *os.File, err error) *os.File {
	t.Helper()
	must.Do(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// streamsOf returns three streams: f as stream i, and the buffers for the others.
func streamsOf(f *os.File, i int, other io.Writer) (in io.Reader, out, errs io.Writer) {
	out, errs = other, other
	switch i {
	case 0:
		in = f
	case 1:
		out = f
	case 2:
		errs = f
	}
	return in, out, errs
}

// ways are how a jail comes about.
func ways(t *testing.T) map[string]func(script string, f *os.File, i int, other io.Writer) error {
	pooled, plain := warmRunner(t), runnerWith(t, RunnerOptions{})
	by := func(c *Cmd, f *os.File, i int, other io.Writer) error {
		c.Stdin, c.Stdout, c.Stderr = streamsOf(f, i, other)
		r, err := c.Run()
		if err == nil && r.ExitCode != 0 {
			err = fmt.Errorf("%s, exit code %d", r.Status, r.ExitCode)
		}
		return err
	}
	return map[string]func(string, *os.File, int, io.Writer) error{
		"brig run": func(script string, f *os.File, i int, other io.Writer) error {
			cmd := exec.Command(filepath.Join(asuser.Dir(), "brig"), "run", "--", "sh", "-c", script)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = streamsOf(f, i, other)
			return cmd.Run()
		},
		"cold": func(script string, f *os.File, i int, other io.Writer) error { return by(shell(script), f, i, other) },
		"runner": func(script string, f *os.File, i int, other io.Writer) error {
			return by(plain.Command("sh", "-c", script), f, i, other)
		},
		"pool": func(script string, f *os.File, i int, other io.Writer) error {
			return by(pooled.Command("sh", "-c", script), f, i, other)
		},
	}
}

// TestStreamsOpenAgain: scripts write to /dev/stderr and read from /dev/stdin, whatever their caller has there.
func TestStreamsOpenAgain(t *testing.T) {
	scripts := [3]string{"head -n 1 /dev/stdin", "echo x >/dev/stdout; echo y >/proc/self/fd/1",
		"echo x >/dev/stderr; echo y >/proc/self/fd/2"}
	for way, run := range ways(t) {
		for kind, open := range callersFiles {
			for i, script := range scripts {
				t.Run(way+"/"+kind+"/"+[]string{"stdin", "stdout", "stderr"}[i], func(t *testing.T) {
					f, want := open(t, i == 0), map[bool]string{true: "x\n", false: "x\ny\n"}[i == 0]
					if kind == "null" {
						want = ""
					}
					before := must.Get(unix.FcntlInt(f.near.Fd(), unix.F_GETFL, 0))(t)
					var other bytes.Buffer
					if err := run(script, f.near, i, &other); err != nil {
						t.Errorf("%v, %q", err, other.String())
					}
					if after, err := unix.FcntlInt(f.near.Fd(), unix.F_GETFL, 0); err != nil || after != before {
						t.Errorf("the file's flags are %#o, they were %#o, %v", after, before, err)
					}
					got := other.String()
					if i > 0 {
						got = f.arrived(t)
					}
					if got != want {
						t.Errorf("%q, want %q", got, want)
					}
				})
			}
		}
	}
}

// TestTerminalLentBefore: the group that a keeper has left on a terminal when it was killed stands in nobody's way, and
// that of one that lives is not ours to change.
func TestTerminalLentBefore(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("an ordinary user's payload owns the terminal")
	}
	gone := exec.Command("true")
	must.Do(t, gone.Run())
	for pid, want := range map[int]Status{gone.Process.Pid: StatusOK, 1: StatusFailed} {
		_, slave := pseudoTerminal(t)
		fd, gid := int(slave.Fd()), launcher.PayloadIDs+pid
		must.Do(t, errors.Join(unix.Fchown(fd, -1, gid), unix.Fchmod(fd, 0o660)))
		c := shell("echo x >/dev/stdin")
		c.Stdin = slave
		if _, r := mustRun(t, c); r.Status != want {
			t.Errorf("pid %d: %s, want %s", pid, r.Status, want)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || int(st.Gid) != gid || st.Mode&0o777 != 0o660 {
			t.Errorf("pid %d: the terminal is left as %d %#o, %v", pid, st.Gid, st.Mode, err)
		}
	}
}

// TestFilesClosedAfterStart: as with exec.Cmd, the caller may close its files once the command runs, and reads their
// far ends up to the end before it calls Wait.
func TestFilesClosedAfterStart(t *testing.T) {
	for kind, open := range callersFiles {
		in, out := open(t, true), open(t, false)
		c := shell("read a; echo $a; read b; echo y")
		c.Stdin, c.Stdout, c.Stderr = in.near, out.near, out.near
		must.Do(t, c.Start())
		in.near.Close()
		if in.far != nil {
			fmt.Fprintln(in.far, "now")
		}
		got, want := "", "x\ny\n"
		if out.far != nil {
			got = out.arrived(t)
		}
		if r, err := c.Wait(); err != nil || r.Status != StatusOK {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
		switch {
		case kind == "null":
			want = ""
		case out.far == nil:
			got = out.arrived(t)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

// TestReaderIsGone: output that nobody reads is SIGPIPE for the payload, whether or not brig copies it.
func TestReaderIsGone(t *testing.T) {
	for _, kind := range []string{"pipe", "FIFO", "socket"} {
		f := callersFiles[kind](t, false)
		f.far.Close()
		c := Command("yes")
		c.Stdout = f.near
		if r, err := c.Run(); err != nil || r.Signal != "SIGPIPE" {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
	}
}

// TestStreamsOfOneFile: what a payload writes to a file by both streams stands there in order.
func TestStreamsOfOneFile(t *testing.T) {
	for kind, open := range callersFiles {
		if kind == "null" {
			continue
		}
		f := open(t, false)
		c := shell("for i in 1 2 3; do echo $i; echo $i >&2; done")
		c.Stdout, c.Stderr = f.near, f.near
		if r, err := c.Run(); err != nil || r.ExitCode != 0 {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
		if got, want := f.arrived(t), "1\n1\n2\n2\n3\n3\n"; got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}

// TestInputIsLeft: what comes when the jail has ended is the next reader's, and no goroutine of the keeper's waits for
// it.
func TestInputIsLeft(t *testing.T) {
	for _, kind := range []string{"socket", "FIFO", "pipe"} {
		f := callersFiles[kind](t, true)
		c := shell("head -n 1 >&2")
		c.Stdin = f.near
		wantOutput(t, c, "x")
		got := make(chan string)
		go func() {
			b := make([]byte, 100)
			n, _ := f.near.Read(b)
			got <- string(b[:n])
		}()
		must.Get(io.WriteString(f.far, "later"))(t)
		select {
		case s := <-got:
			if s != "later" {
				t.Errorf("%s: %q was left", kind, s)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: somebody else has read it", kind)
		}
	}
}

// TestPassedOutputHoldsNobody: a payload that hands its output to another jail ends all the same, and with it what brig
// reads.
func TestPassedOutputHoldsNobody(t *testing.T) {
	t.Run("pipe", func(t *testing.T) { passOutput(t, false) })
	t.Run("terminal", func(t *testing.T) { passOutput(t, true) })
}

func passOutput(t *testing.T, tty bool) {
	const hold = `
import array, os, socket, time
s = socket.socket(socket.AF_UNIX); s.bind("/work/s"); s.listen()
print("ready", flush=True)
fd = array.array("i", s.accept()[0].recvmsg(1, 64)[1][0][2])[0]
while not os.path.exists("/work/over"): time.sleep(0.001)
try: os.write(fd, b"late\n")
except OSError: print("refused", flush=True)
`
	const give = `
import array, os, socket
c = socket.socket(socket.AF_UNIX); c.connect("/work/s")
os.write(1, b"early\n" * 1000)
c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1, 0]))])
`
	shared := t.TempDir()
	must.Do(t, os.Chmod(shared, 0o777))
	jail := func(code string) *Cmd {
		c := Command("python3", "-c", code)
		c.Spec.Mounts = []spec.Mount{{Type: spec.MountBind, Source: shared, Target: "/work", Writable: true}}
		c.Spec.Optional = []string{"sockets"}
		return c
	}
	said, theirs, err := os.Pipe()
	keep(t, theirs, err)
	holder := jail(hold)
	holder.Stdout, holder.Stderr = theirs, os.Stderr
	must.Do(t, holder.Start())
	theirs.Close()
	lines := bufio.NewScanner(said)
	if !lines.Scan() {
		t.Fatal("the other jail does not listen")
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		giver := jail(give)
		if giver.Spec.TTY = tty; !tty {
			giver.Stdin = callersFiles["socket"](t, true).near // which stays open
		}
		out, r, err := giver.Output()
		out = bytes.ReplaceAll(out, []byte("\r"), nil)
		if want := strings.Repeat("early\n", 1000); err != nil || r.Status != StatusOK || string(out) != want {
			t.Errorf("%d bytes, want %d; %+v, %v", len(out), len(want), r, err)
		}
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the jail with the descriptor holds the keeper")
	}
	must.Do(t, os.WriteFile(filepath.Join(shared, "over"), nil, 0o644))
	if lines.Scan(); lines.Text() != "refused" {
		t.Errorf("a late write: %q", lines.Text())
	}
	if r, err := holder.Wait(); err != nil || r.Status != StatusOK {
		t.Errorf("the other jail: %+v, %v", r, err)
	}
	<-ended
}

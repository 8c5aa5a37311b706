package run

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// session is set in a process that leads a session with a controlling terminal, its descriptor 0.
const session = "BRIG_TEST_SESSION"

// TestSeat: streams that are the caller's controlling terminal are one terminal of the payload's own, if it may have
// one, whose output is shown at the caller's. Otherwise they are copied. The test runs in a session of its own.
func TestSeat(t *testing.T) {
	if os.Getenv(session) == "" {
		master, terminal := pty(t)
		leader := exec.Command("/proc/self/exe", "-test.run=^TestSeat$", "-test.timeout=60s")
		leader.Env, leader.Stdin = append(os.Environ(), session+"=1"), terminal
		leader.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
		if out, err := leader.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		terminal.Close()
		if shown, err := io.ReadAll(master); string(shown) != "shown\r\nshown\r\n" { // EIO at the end
			t.Errorf("the caller's terminal shows %q, %v", shown, err)
		}
		return
	}
	terminal := must.Get(os.OpenFile("/dev/tty", os.O_RDWR, 0))(t)
	writes := must.Get(os.OpenFile("/dev/tty", os.O_WRONLY, 0))(t)
	r, w, err := os.Pipe()
	must.Do(t, err)
	for name, c := range map[string]struct {
		in    io.Reader
		out   [2]io.Writer
		seat  bool
		first int     // the first stream that the caller's terminal controls, and 1
		desk  [3]bool // which streams are the payload's terminal
		alone bool
	}{
		"all":              {terminal, [2]io.Writer{terminal, terminal}, true, 1, [3]bool{true, true, true}, true},
		"opened otherwise": {terminal, [2]io.Writer{terminal, writes}, true, 1, [3]bool{true, true, true}, true},
		"a pipe beside":    {r, [2]io.Writer{w, terminal}, true, 3, [3]bool{false, false, true}, false},
		"none is wanted":   {terminal, [2]io.Writer{w, w}, false, 1, [3]bool{}, false},
	} {
		s := &Streams{In: c.in, Out: c.out, Seat: c.seat}
		if n := Controlling(c.in, c.out, false); n != c.first {
			t.Errorf("%s: stream %d", name, n-1)
		}
		e := opened(t, s)
		last := statOf(t, int(e[2].Fd()))
		for i := range e {
			st := statOf(t, int(e[i].Fd()))
			is := st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev != statOf(t, 0).Rdev
			if is != c.desk[i] || is && st.Rdev != last.Rdev {
				t.Errorf("%s: stream %d is the payload's terminal: %v", name, i, is)
			}
		}
		if s.files.alone() != c.alone || (s.Desk() != nil) != (c.desk[2] || c.desk[0]) {
			t.Errorf("%s: alone %v, desk %v", name, s.files.alone(), s.Desk() != nil)
		}
		s.Start(own(t))
		if c.desk[2] && name != "opened otherwise" {
			must.Get(e[2].WriteString("shown\n"))(t)
		}
		e.close()
		s.End()
		if last := string(s.Desk().Last()); c.desk[2] && name != "opened otherwise" && last != "shown\r\n" {
			t.Errorf("%s: %q is remembered", name, last)
		}
	}
}

package desk

import (
	"errors"
	"io"
	"os"
	"testing"

	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// terminal returns both sides of a terminal that no session has.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	m := must.Get(unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0))(t)
	must.Do(t, unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0))
	master, slave = os.NewFile(uintptr(m), "ptmx"), os.NewFile(uintptr(must.Get(peer(m))(t)), "pts")
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

func modesOf(t *testing.T, fd int) unix.Termios {
	t.Helper()
	return *must.Get(unix.IoctlGetTermios(fd, unix.TCGETS))(t)
}

func nobody(int) error { return nil }

// openFiles returns how many descriptors this process has.
func openFiles(t *testing.T) int { return len(must.Get(os.ReadDir("/proc/self/fd"))(t)) }

// The payload's terminal begins with the modes and the size of the caller's, and belongs to the payload.
func TestOpen(t *testing.T) {
	_, caller := terminal(t)
	ours := int(caller.Fd())
	modes := modesOf(t, ours)
	modes.Lflag &^= unix.ECHO
	modes.Cc[unix.VINTR] = 'q'
	must.Do(t, unix.IoctlSetTermios(ours, unix.TCSETS, &modes))
	must.Do(t, unix.IoctlSetWinsize(ours, unix.TIOCSWINSZ, &unix.Winsize{Row: 33, Col: 77}))
	owned := -1
	d := Open(ours, func(fd int) error { owned = fd; return nil })
	if d == nil {
		t.Fatal("there is no desk")
	}
	defer d.End()
	size := must.Get(unix.IoctlGetWinsize(d.slave, unix.TIOCGWINSZ))(t)
	if owned != d.slave || modesOf(t, d.slave) != modes || size.Row != 33 || size.Col != 77 {
		t.Errorf("owned %d of %d, modes %+v, size %+v", owned, d.slave, modesOf(t, d.slave), size)
	}
	must.Do(t, unix.IoctlSetWinsize(ours, unix.TIOCSWINSZ, &unix.Winsize{Row: 5, Col: 6}))
	d.Resize()
	if size := must.Get(unix.IoctlGetWinsize(d.slave, unix.TIOCGWINSZ))(t); size.Row != 5 || size.Col != 6 {
		t.Errorf("after a change: %+v", size)
	}
}

// Without a terminal of the caller's, or without its owner, there is no desk, and nothing stays open.
func TestOpenFails(t *testing.T) {
	_, caller := terminal(t)
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	before := openFiles(t)
	if d := Open(int(r.Fd()), nobody); d != nil {
		t.Error("a pipe has a desk")
	}
	if d := Open(int(caller.Fd()), func(int) error { return unix.EPERM }); d != nil {
		t.Error("a desk is not the payload's")
	}
	if now := openFiles(t); now != before {
		t.Errorf("%d files are open, %d before", now, before)
	}
}

// The streams of a payload are one terminal. What is written there comes out of the side that Start returns, and only
// a stream that is written has the caller's terminal to show it.
func TestSeat(t *testing.T) {
	master, caller := terminal(t)
	before := openFiles(t)
	d := Open(int(caller.Fd()), nobody)
	read := d.Seat("in", int(caller.Fd()), false)
	if d.screen.to != nil {
		t.Error("a stream that is read shows output")
	}
	written := d.Seat("out", int(caller.Fd()), true)
	if a, b := ttyOf(t, read), ttyOf(t, written); a != b || a != ttyOf(t, d.slave) {
		t.Errorf("streams are the terminals %d and %d", a, b)
	}
	pidfd := os.NewFile(uintptr(must.Get(unix.PidfdOpen(os.Getpid(), 0))(t)), "pidfd")
	from, to := d.Start(pidfd, true)
	if d.slave != -1 {
		t.Error("End would close another's descriptor")
	}
	must.Get(unix.Write(written, []byte("hello\n")))(t)
	buf := make([]byte, 100)
	n := must.Get(from.Read(buf))(t)
	must.Get(to.Write(buf[:n]))(t)
	if n := must.Get(master.Read(buf))(t); string(buf[:n]) != "hello\r\n" || string(d.Last()) != "hello\r\n" {
		t.Errorf("shown %q, remembered %q", buf[:n], d.Last())
	}
	unix.Close(read)
	unix.Close(written)
	if _, err := from.Read(buf); !errors.Is(err, unix.EIO) { // the desk keeps no descriptor of the payload's side
		t.Errorf("after the payload: %v", err)
	}
	d.End()
	pidfd.Close()
	if now := openFiles(t); now != before {
		t.Errorf("%d files are open, %d before", now, before)
	}
}

func ttyOf(t *testing.T, fd int) uint64 {
	t.Helper()
	var st unix.Stat_t
	must.Do(t, unix.Fstat(fd, &st))
	return st.Rdev
}

// A shell sets the modes of its terminal before it puts a job into the foreground: the job has those, unless it has
// set its own.
func TestRenew(t *testing.T) {
	_, caller := terminal(t)
	d := Open(int(caller.Fd()), nobody)
	defer d.End()
	shells := modesOf(t, int(caller.Fd()))
	shells.Lflag &^= unix.ECHO
	if d.renew(&shells); modesOf(t, d.slave) != shells {
		t.Error("the modes of the shell are not there")
	}
	own := shells
	own.Lflag &^= unix.ICANON
	must.Do(t, unix.IoctlSetTermios(d.slave, unix.TCSETS, &own))
	shells.Lflag |= unix.ECHO
	if d.renew(&shells); modesOf(t, d.slave) != own {
		t.Error("the payload's own modes are gone")
	}
}

// Without a desk the keeper has nothing to answer for.
func TestNoDesk(t *testing.T) {
	var d *Desk
	d.Resize()
	d.End()
	if d.Leave() || d.Stopped(unix.SIGTTIN) || d.Last() != nil {
		t.Error("it has one")
	}
}

// A stop that is not for want of the terminal is none of the desk's.
func TestOtherStops(t *testing.T) {
	_, caller := terminal(t)
	d := Open(int(caller.Fd()), nobody)
	defer d.End()
	for _, sig := range []unix.Signal{unix.SIGTSTP, unix.SIGSTOP, 0, -1, 1000} {
		if d.Stopped(sig) || d.attached {
			t.Errorf("signal %d attaches the terminal", sig)
		}
	}
}

// A terminal that no session has controls nobody, and neither does a file that is no terminal.
func TestControls(t *testing.T) {
	_, slave := terminal(t)
	r, w := io.Pipe()
	defer r.Close()
	defer w.Close()
	null := must.Get(os.Open(os.DevNull))(t)
	defer null.Close()
	if Controls(int(slave.Fd())) || Controls(int(null.Fd())) || Controls(-1) {
		t.Error("it controls this process")
	}
}

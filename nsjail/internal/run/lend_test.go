package run

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"brig/internal/sys"
	"brig/internal/test/must"

	"golang.org/x/sys/unix"
)

// pty returns both sides of a terminal that no session has.
func pty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	m := must.Get(unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0))(t)
	master = os.NewFile(uintptr(m), "ptmx")
	must.Do(t, unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0))
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		t.Fatal(errno)
	}
	slave = os.NewFile(fd, "pts")
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

// flagsOf returns the status flags of a file's description, which File.Fd would change.
func flagsOf(t *testing.T, f *os.File) (flags int) {
	t.Helper()
	must.Do(t, sys.Control(f, func(fd int) (err error) {
		flags, err = unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		return err
	}))
	return flags
}

func statOf(t *testing.T, fd int) (st unix.Stat_t) {
	t.Helper()
	must.Do(t, unix.Fstat(fd, &st))
	return st
}

// A payload never has the caller's open file description: what it makes of its own, as O_NONBLOCK, is not the caller's.
// A file of which no other description is safe or possible is copied.
func TestLend(t *testing.T) {
	dir := t.TempDir()
	regular := must.Get(os.Create(filepath.Join(dir, "f")))(t)
	fifo := filepath.Join(dir, "fifo")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	named := must.Get(os.OpenFile(fifo, os.O_RDWR, 0))(t)
	r, w, err := os.Pipe()
	must.Do(t, err)
	_, terminal := pty(t)
	sv := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0))(t)
	socket, other := os.NewFile(uintptr(sv[0]), "socket"), os.NewFile(uintptr(sv[1]), "socket")
	zero := must.Get(os.Open("/dev/zero"))(t)
	null := must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	for _, f := range []*os.File{regular, named, r, w, socket, other, zero, null} {
		t.Cleanup(func() { f.Close() })
	}
	for name, c := range map[string]struct {
		f     *os.File
		lent  bool
		loans int // what is to be restored
	}{
		"a pipe to read":  {r, true, 1},
		"a pipe to write": {w, true, 1},
		"a FIFO":          {named, true, 1},
		"a terminal":      {terminal, true, 1},
		"/dev/zero":       {zero, true, 0},
		"/dev/null":       {null, true, 0},
		"a regular file":  {regular, false, 0},
		"a socket":        {socket, false, 0},
	} {
		var l lender
		fd, copied, err := l.lend(0, c.f)
		if (fd >= 0) != c.lent || (copied != nil) == c.lent || err != nil || len(l.loans) != c.loans {
			t.Errorf("%s: %d, copied %v, %v, %d loans", name, fd, copied != nil, err, len(l.loans))
		}
		if copied != nil {
			copied.Close()
		}
		if fd < 0 {
			continue
		}
		want := flagsOf(t, c.f)
		must.Get(unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_NONBLOCK^want&unix.O_NONBLOCK|unix.O_APPEND))(t)
		if got := flagsOf(t, c.f); got != want {
			t.Errorf("%s: the caller's flags are %#x, and were %#x", name, got, want)
		}
		ours, theirs := statOf(t, int(c.f.Fd())), statOf(t, fd)
		if ours.Ino != theirs.Ino || ours.Dev != theirs.Dev {
			t.Errorf("%s: another file", name)
		}
		if got := must.Get(unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0))(t); got&unix.O_ACCMODE != want&unix.O_ACCMODE {
			t.Errorf("%s: opened for %#x, and the caller's for %#x", name, got, want)
		}
		unix.Close(fd)
	}
}

// Two streams that are one file share a description, so that what is written stands in order; one that is read and
// written otherwise does not.
func TestLendTheSameTwice(t *testing.T) {
	_, terminal := pty(t)
	again := must.Get(os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(terminal.Fd())), os.O_WRONLY|unix.O_NOCTTY, 0))(t)
	defer again.Close()
	var l lender
	var fds [3]int
	for i, f := range []*os.File{terminal, terminal, again} {
		var err error
		fds[i], _, err = l.lend(i, f)
		must.Do(t, err)
		defer unix.Close(fds[i])
	}
	must.Get(unix.FcntlInt(uintptr(fds[0]), unix.F_SETFL, unix.O_NONBLOCK))(t)
	for i, shared := range []bool{true, true, false} {
		flags := must.Get(unix.FcntlInt(uintptr(fds[i]), unix.F_GETFL, 0))(t)
		if (flags&unix.O_NONBLOCK != 0) != shared {
			t.Errorf("stream %d: flags %#x", i, flags)
		}
	}
	if !l.oneFile(0, 1) || !l.oneFile(1, 2) || len(l.loans) != 2 || l.alone() {
		t.Errorf("%+v", l.files)
	}
	if new(lender).oneFile(0, 1) {
		t.Error("two streams that are no file are the same")
	}
}

// What cannot be lent for a reason of the caller's is an error with the stream's name, and nothing is open for it.
func TestLendFails(t *testing.T) {
	dir := must.Get(os.Open(t.TempDir()))(t)
	defer dir.Close()
	closed := must.Get(os.Open(os.DevNull))(t)
	closed.Close()
	for want, c := range map[string]struct {
		i int
		f *os.File
	}{
		"stdin: ": {0, dir}, "stderr: ": {2, closed},
	} {
		fd, copied, err := new(lender).lend(c.i, c.f)
		if fd >= 0 || copied != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s%d, %v, %v", want, fd, copied, err)
		}
	}
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer w.Close()
	defer r.Close()
	fd, _, err := (&lender{same: true}).lend(0, r) // a test's own wish
	must.Do(t, err)
	must.Get(unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_APPEND))(t)
	if flags := flagsOf(t, r); flags&unix.O_APPEND == 0 {
		t.Error("the description is not the caller's")
	}
	unix.Close(fd)
}

// Another user may open a pipe of the caller's again, which only processes that hold it can reach. A FIFO, which has a
// name, keeps its mode, and is copied.
func TestLendToAnother(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	named := must.Get(os.OpenFile(fifo, os.O_RDWR, 0))(t)
	defer named.Close()
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	l := lender{owner: Owner{Other: true, UID: os.Getuid(), GID: os.Getgid()}}
	for i, c := range []struct {
		f    *os.File
		lent bool
		mode uint32
	}{{r, true, 0o604}, {w, true, 0o606}, {named, false, 0o600}} { // both ends are one inode
		fd, copied, err := l.lend(i, c.f)
		must.Do(t, err)
		if mode := statOf(t, int(c.f.Fd())).Mode & 0o777; mode != c.mode || (fd >= 0) != c.lent {
			t.Errorf("%s: mode %o, lent %v", c.f.Name(), mode, fd >= 0)
		}
		if copied != nil {
			copied.Close()
		}
		unix.Close(fd)
	}
	if len(l.loans) != 0 {
		t.Errorf("%d loans, and the payload owns none of the files", len(l.loans))
	}
	must.Do(t, named.Chmod(0o666))
	fd, _, err := l.lend(0, named)
	if must.Do(t, err); fd < 0 {
		t.Error("a FIFO for everybody is copied")
	}
	unix.Close(fd)
}

package run

import (
	"os"
	"strconv"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/desk"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// streamNames are the names of descriptors 0, 1 and 2 in messages.
var streamNames = [3]string{"stdin", "stdout", "stderr"}

// lender opens the caller's files again as streams of the payload, which it restores after the end of the jail.
type lender struct {
	owner Owner
	seats bool // the payload may have a terminal in place of the caller's
	same  bool // for tests: the payload gets the caller's open file descriptions
	files [3]lent
	loans loans
	desk  *desk.Desk // nil: no stream is the caller's controlling terminal
}

// lent is a file of the caller that becomes a stream of the payload.
type lent struct {
	known    bool // the stream is a file
	dev, ino uint64
	access   int  // O_RDONLY, O_WRONLY or O_RDWR
	fd       int  // the payload's; -1: brig copies
	seat     bool // that is the desk's terminal
}

// oneFile reports whether two streams are the same file.
func (l *lender) oneFile(i, k int) bool {
	a, b := &l.files[i], &l.files[k]
	return a.known && b.known && a.dev == b.dev && a.ino == b.ino
}

// alone reports whether all three streams are the desk's terminal.
func (l *lender) alone() bool { return l.files[0].seat && l.files[1].seat && l.files[2].seat }

// lend opens f again as stream i, after those before it. A duplicate would share the caller's open file description
// (open(2)), and the payload could change its status flags, offset and signal owner, even for use after the jail. lend
// returns -1 if the file must be copied instead: a regular file, which the payload could truncate or read back through
// a new description, or a socket, which cannot be opened again. copied is a duplicate for that, since the caller may
// close f.
func (l *lender) lend(i int, f *os.File) (fd int, copied *os.File, err error) {
	fd = -1
	err = sys.Control(f, func(ours int) (err error) {
		fd, err = l.reopen(i, f, ours)
		return err
	})
	if fd < 0 && err == nil {
		copied, err = duplicate(f)
	}
	if _, ours := err.(*spec.Error); err != nil && !ours {
		err = spec.CallerError(streamNames[i], words.Quote(f.Name())+": "+err.Error(), "pass an open file")
	}
	return fd, copied, err
}

// duplicate returns another descriptor of a file's description.
func duplicate(f *os.File) (copied *os.File, err error) {
	err = sys.Control(f, func(ours int) error {
		fd, err := unix.FcntlInt(uintptr(ours), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			copied = os.NewFile(uintptr(fd), f.Name())
		}
		return err
	})
	return copied, err
}

// reopen returns -1 if the file cannot be opened again.
func (l *lender) reopen(i int, f *os.File, ours int) (fd int, err error) {
	flags, err := unix.FcntlInt(uintptr(ours), unix.F_GETFL, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(ours, &st); err != nil {
		return -1, err
	}
	if l.same {
		return unix.FcntlInt(uintptr(ours), unix.F_DUPFD_CLOEXEC, 0)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR { // through its descriptor, openat(2) with ".." reaches every file of the host
		return -1, &spec.Error{Fault: spec.FaultCaller, Op: streamNames[i],
			Detail: words.Plain(words.Quote(f.Name()) + " is a directory: the payload could walk the host's files from it"),
			Remedy: "pass a file, a pipe or a terminal; share a directory with " + spec.ShowInput()}
	}
	now := &l.files[i]
	*now = lent{known: true, dev: st.Dev, ino: st.Ino, access: flags & unix.O_ACCMODE}
	for k := range i {
		if m := &l.files[k]; l.oneFile(i, k) && now.access == m.access && m.fd >= 0 {
			now.seat = m.seat
			now.fd, err = unix.FcntlInt(uintptr(m.fd), unix.F_DUPFD_CLOEXEC, 0)
			return now.fd, err
		}
	}
	now.fd = l.openAgain(f, ours, now, &st)
	return now.fd, nil
}

// openAgain returns a new open file description for the payload, or -1 if there is none. The caller may lack permission
// to open its own file, such as a terminal after su(1).
func (l *lender) openAgain(f *os.File, ours int, now *lent, st *unix.Stat_t) int {
	path, access := "/proc/self/fd/"+strconv.Itoa(ours), now.access
	fd := -1
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		fd = l.openPipe(path, ours, access, st)
	case unix.S_IFCHR:
		// devices.txt of the kernel's documentation
		const null, zero, full, random, urandom = 1<<8 | 3, 1<<8 | 5, 1<<8 | 7, 1<<8 | 8, 1<<8 | 9
		switch st.Rdev {
		case null: // opened by name: the first access through procfs takes ten times as long
			return tryOpen(os.DevNull, access)
		case zero, full, random, urandom:
			return tryOpen(path, access)
		}
		if desk.Controls(ours) {
			fd = l.sit(f, ours, access)
			now.seat = fd >= 0
			return fd
		}
		if _, err := unix.IoctlGetTermios(ours, unix.TCGETS); err == nil {
			fd = tryOpen(path, access)
		}
	}
	if fd >= 0 {
		l.loans.note(f, ours, st, l.owner)
	}
	return fd
}

// sit returns a terminal in place of the caller's controlling one, or -1.
func (l *lender) sit(f *os.File, ours, access int) int {
	if l.seats && l.desk == nil {
		l.desk = desk.Open(ours, l.owner.own)
	}
	if l.desk == nil {
		return -1
	}
	return l.desk.Seat(f.Name(), ours, access != unix.O_RDONLY)
}

// openPipe opens a pipe or FIFO. The payload may open its stream again as /dev/stdout, so if its uid differs from the
// caller's, the mode must permit that. The mode of a pipe can be extended safely, because a pipe is reachable only
// through a process that holds it. A FIFO is reachable by name, so its mode is not changed.
func (l *lender) openPipe(path string, ours, access int, st *unix.Stat_t) int {
	var fs unix.Statfs_t
	if unix.Fstatfs(ours, &fs) != nil {
		return -1
	}
	named := fs.Type != unix.PIPEFS_MAGIC
	if l.owner.Other {
		need := [unix.O_ACCMODE + 1]uint32{unix.O_RDONLY: 0o4, unix.O_WRONLY: 0o2, unix.O_RDWR: 0o6}[access]
		if st.Mode&need != need && (named || unix.Fchmod(ours, st.Mode&0o7777|need) != nil) {
			return -1
		}
	}
	if named { // open(2) of a FIFO waits for its other end: fifo(7)
		hold := tryOpen(path, unix.O_RDWR|unix.O_NONBLOCK)
		if hold < 0 {
			return -1
		}
		defer unix.Close(hold)
	}
	return tryOpen(path, access)
}

// tryOpen returns -1 if the file cannot be opened. The stream is then copied, which needs no open(2).
func tryOpen(path string, flags int) int {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return -1
	}
	return fd
}

package run

import (
	"os"
	"strconv"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// streamNames are the names of descriptors 0, 1 and 2 in messages.
var streamNames = [3]string{"stdin", "stdout", "stderr"}

// lent is a file of the caller that becomes a stream of the payload.
type lent struct {
	known    bool // the stream is a file
	dev, ino uint64
	access   int      // O_RDONLY, O_WRONLY or O_RDWR
	seat     bool     // the payload has the desk's terminal in its place
	copied   *os.File // brig copies from or to this duplicate, since the caller may close f; nil for none
}

// same reports whether both refer to the same file.
func (l *lent) same(m *lent) bool {
	return l.known && m.known && l.dev == m.dev && l.ino == m.ino
}

// lend opens f again as the next stream. A duplicate would share the caller's open file description (open(2)), and the
// payload could change its status flags, offset and signal owner, even for use after the jail. lend returns -1 if the
// file must be copied instead: a regular file, which the payload could truncate or read back through a new description,
// or a socket, which cannot be opened again.
func (s *Streams) lend(f *os.File) (fd int, err error) {
	fd = -1
	err = sys.Control(f, func(ours int) (err error) {
		fd, err = s.reopen(f, ours)
		return err
	})
	if _, ours := err.(*spec.Error); err != nil && !ours {
		err = spec.CallerError(streamNames[len(s.fds)], words.Quote(f.Name())+": "+err.Error(), "pass an open file")
	}
	return fd, err
}

func (s *Streams) reopen(f *os.File, ours int) (fd int, err error) {
	flags, err := unix.FcntlInt(uintptr(ours), unix.F_GETFL, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(ours, &st); err != nil {
		return -1, err
	}
	if s.Same {
		return unix.FcntlInt(uintptr(ours), unix.F_DUPFD_CLOEXEC, 0)
	}
	i := len(s.fds)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR { // through its descriptor, openat(2) with ".." reaches every file of the host
		return -1, &spec.Error{Fault: spec.FaultCaller, Op: streamNames[i],
			Detail: words.Plain(words.Quote(f.Name()) + " is a directory: the payload could walk the host's files from it"),
			Remedy: "pass a file, a pipe or a terminal; share a directory with " + spec.ShowInput()}
	}
	now := &s.files[i]
	*now = lent{known: true, dev: st.Dev, ino: st.Ino, access: flags & unix.O_ACCMODE}
	for k := range s.files[:i] {
		if m := &s.files[k]; now.same(m) && now.access == m.access && m.copied == nil {
			if m.seat {
				s.seated++
			}
			return unix.FcntlInt(uintptr(s.fds[k]), unix.F_DUPFD_CLOEXEC, 0)
		}
	}
	if fd = s.openAgain(f, ours, now.access, &st); fd >= 0 {
		return fd, nil
	}
	ours, err = unix.FcntlInt(uintptr(ours), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		now.copied = os.NewFile(uintptr(ours), f.Name())
	}
	return -1, err
}

// openAgain returns a new open file description for the payload, or -1 if there is none. The caller may lack permission
// to open its own file, such as a terminal after su(1).
func (s *Streams) openAgain(f *os.File, ours, access int, st *unix.Stat_t) int {
	path := "/proc/self/fd/" + strconv.Itoa(ours)
	fd := -1
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO:
		fd = s.openPipe(path, ours, access, st)
	case unix.S_IFCHR:
		// devices.txt of the kernel's documentation
		const null, zero, full, random, urandom = 1<<8 | 3, 1<<8 | 5, 1<<8 | 7, 1<<8 | 8, 1<<8 | 9
		switch st.Rdev {
		case null: // opened by name: the first access through procfs takes ten times as long
			return tryOpen(os.DevNull, access)
		case zero, full, random, urandom:
			return tryOpen(path, access)
		}
		if controls(ours) {
			if !s.Seat {
				return -1
			}
			if fd = s.sit(f, ours, access); fd >= 0 {
				s.seated++
				s.files[len(s.fds)].seat = true
			}
			return fd
		}
		if _, err := unix.IoctlGetTermios(ours, unix.TCGETS); err == nil {
			fd = tryOpen(path, access)
		}
	}
	if fd >= 0 {
		s.note(f, ours, st)
	}
	return fd
}

// openPipe opens a pipe or FIFO. The payload may open its stream again as /dev/stdout, so if its uid differs from the
// caller's, the mode must permit that. The mode of a pipe can be extended safely, because a pipe is reachable only
// through a process that holds it. A FIFO is reachable by name, so its mode is not changed.
func (s *Streams) openPipe(path string, ours, access int, st *unix.Stat_t) int {
	var fs unix.Statfs_t
	if unix.Fstatfs(ours, &fs) != nil {
		return -1
	}
	named := fs.Type != unix.PIPEFS_MAGIC
	if s.Chown {
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

package attack

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// setupTerminal opens a terminal of the host as the payload's stdin. It checks that no character was typed into it, and
// that its settings have not changed.
func setupTerminal(s *Scene) {
	master, slave, err := PseudoTerminal()
	s.keep(master, err)
	s.Stdin = s.keep(slave, nil)
	fd := int(slave.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	s.must(err)
	var was unix.Stat_t
	s.must(unix.Fstat(fd, &was))
	s.check(func() string {
		if n, err := unix.IoctlGetInt(fd, unix.TIOCINQ); err != nil || n > 0 {
			return fmt.Sprintf("%d characters were typed into the host's terminal (%v)", n, err)
		}
		if after, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil || *after != *before {
			return fmt.Sprintf("the terminal's modes were %+v and are %+v (%v)", before, after, err)
		}
		if line, err := unix.IoctlGetInt(fd, unix.TIOCGETD); err != nil || line != 0 {
			return fmt.Sprintf("the terminal's line discipline is %d (%v)", line, err)
		}
		var is unix.Stat_t
		if err := unix.Fstat(fd, &is); err != nil || is.Uid != was.Uid || is.Gid != was.Gid || is.Mode != was.Mode {
			return fmt.Sprintf("the terminal is %d:%d %#o, it was %d:%d %#o (%v)",
				is.Uid, is.Gid, is.Mode, was.Uid, was.Gid, was.Mode, err)
		}
		return ""
	})
}

// setupPipe opens a pipe of the host as the payload's stdin, and checks that its flags and the owner of its signals
// have not changed.
func setupPipe(s *Scene) {
	r, w, err := os.Pipe()
	s.Stdin = s.keep(r, err)
	fmt.Fprintln(s.keep(w, err), "x")
	flags, err := unix.FcntlInt(s.Stdin.Fd(), unix.F_GETFL, 0)
	s.must(err)
	s.check(func() string {
		if now, err := unix.FcntlInt(s.Stdin.Fd(), unix.F_GETFL, 0); err != nil || now != flags {
			return fmt.Sprintf("the flags of the caller's pipe were %#o and are %#o (%v)", flags, now, err)
		}
		if st, err := s.Stdin.Stat(); err != nil || st.Mode().Perm()&0o722 != 0o600 {
			return fmt.Sprintf("the caller's pipe: %v (%v)", st, err)
		}
		if owner, err := unix.FcntlInt(s.Stdin.Fd(), unix.F_GETOWN, 0); err != nil || owner != 0 {
			return fmt.Sprintf("the signals of the caller's pipe go to %d (%v)", owner, err)
		}
		return ""
	})
}

// setupLog opens a log to which the caller appends as the payload's stderr, and checks that it can only be appended to.
func setupLog(s *Scene) {
	line := "host-secret " + s.Vars["MARK"] + "\n"
	s.write("log", line)
	f, err := os.OpenFile(s.Path("log"), os.O_RDWR|os.O_APPEND, 0)
	s.Stderr = s.keep(f, err)
	s.check(func() string {
		if b, err := os.ReadFile(s.Path("log")); err != nil || !strings.HasPrefix(string(b), line) {
			return fmt.Sprintf("the caller's log begins with %.40q (%v)", b, err)
		}
		return ""
	})
}

// keep closes a file at the end.
func (s *Scene) keep(f *os.File, err error) *os.File {
	s.must(err)
	s.cleanup(func() { f.Close() })
	return f
}

// PseudoTerminal returns both sides of a new terminal that controls no session: pty(7).
func PseudoTerminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "master")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	peer, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if e != 0 {
		return nil, nil, errors.Join(e, master.Close())
	}
	return master, os.NewFile(peer, "terminal"), nil
}

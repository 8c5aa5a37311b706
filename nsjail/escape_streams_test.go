package nsjail

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// setupTerminal opens a terminal of the host as the payload's stdin. It looks for characters that nobody typed, and
// whether the terminal is as it was.
func setupTerminal(t *testing.T, s *scene) {
	_, slave := pseudoTerminal(t)
	s.stdin = slave
	fd := int(slave.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	var was unix.Stat_t
	if err := unix.Fstat(fd, &was); err != nil {
		t.Fatal(err)
	}
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

// setupPipe opens a pipe of the host as the payload's stdin, and looks whether its flags or the owner of its
// signals were changed.
func setupPipe(t *testing.T, s *scene) {
	f := callersFiles["pipe"](t, true)
	s.stdin = f.near
	flags, err := unix.FcntlInt(s.stdin.Fd(), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.check(func() string {
		if now, err := unix.FcntlInt(s.stdin.Fd(), unix.F_GETFL, 0); err != nil || now != flags {
			return fmt.Sprintf("the flags of the caller's pipe were %#o and are %#o (%v)", flags, now, err)
		}
		if st, err := s.stdin.Stat(); err != nil || st.Mode().Perm()&0o722 != 0o600 {
			return fmt.Sprintf("the caller's pipe: %v (%v)", st, err)
		}
		if owner, err := unix.FcntlInt(s.stdin.Fd(), unix.F_GETOWN, 0); err != nil || owner != 0 {
			return fmt.Sprintf("the signals of the caller's pipe go to %d (%v)", owner, err)
		}
		return ""
	})
}

// setupLog opens a log as the payload's stderr, which the caller appends to, and looks whether that is all.
func setupLog(t *testing.T, s *scene) {
	line := "host-secret " + s.vars["MARK"] + "\n"
	s.write(t, "log", line)
	f, err := os.OpenFile(s.path("log"), os.O_RDWR|os.O_APPEND, 0)
	s.stderr = keep(t, f, err)
	s.check(func() string {
		if b, err := os.ReadFile(s.path("log")); err != nil || !strings.HasPrefix(string(b), line) {
			return fmt.Sprintf("the caller's log begins with %.40q (%v)", b, err)
		}
		return ""
	})
}

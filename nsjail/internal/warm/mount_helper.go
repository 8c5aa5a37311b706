package warm

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"brig/internal/program"
	"brig/nsjail/doctor"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// MountHelper is a second launcher, in the host's root and, for an ordinary user, in the user namespace of the Runner's
// first one. It makes what needs capabilities there, while the first makes jails. It is started when it is needed.
type MountHelper struct {
	Host  *host.Host
	First *launcher.Launcher // the Runner's

	Mu       sync.Mutex
	Launcher *launcher.Launcher
	closed   bool
}

// StartHelper starts a launcher in the host's root. For root it has RootCaps; for an ordinary user it is in the user
// namespace of the Runner's first launcher, and in a mount namespace of its own.
func StartHelper(h *host.Host, first *launcher.Launcher) (*launcher.Launcher, error) {
	l, err := launcher.Start()
	if err != nil {
		return nil, err
	}
	if h.Drop {
		err = launcher.Perform(l, "prepare", plan.DropProgram(h, plan.RootCaps, plan.RootCaps))
	} else {
		err = join(l, first)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// join makes a launcher enter the user namespace of another.
func join(l, other *launcher.Launcher) error {
	ns, err := unix.Open("/proc/"+strconv.Itoa(other.Pid())+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("open of the launcher's user namespace", err)
	}
	defer unix.Close(ns)
	p := program.New(3)
	p.Add("prepare", unix.SYS_SETNS, launcher.SlotUser.Arg(), program.Named(unix.CLONE_NEWUSER, "CLONE_NEWUSER"))
	p.Add("prepare", unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWNS, "CLONE_NEWNS"))
	return launcher.Perform(l, "prepare", p, ns)
}

func (m *MountHelper) close() error {
	if m.Launcher == nil {
		return nil
	}
	err := m.Launcher.Close()
	m.Launcher = nil
	return err
}

// Close ends the helper for good.
func (m *MountHelper) Close() error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.closed = true
	return m.close()
}

// do performs a program that passes one descriptor back. then is called before the helper does anything else. A helper
// that was killed is replaced, once.
func (m *MountHelper) do(p *program.Program, then func(pid int) error) (fd int, err error) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	var oe *launcher.OpError
	had := m.Launcher != nil
	if fd, err = m.try(p, then); err == nil || errors.As(err, &oe) || !had || m.closed {
		return fd, err
	}
	if err := m.close(); err != nil {
		return -1, err
	}
	return m.try(p, then)
}

func (m *MountHelper) try(p *program.Program, then func(pid int) error) (fd int, err error) {
	if m.closed {
		return -1, os.ErrClosed
	}
	if m.Launcher == nil {
		if m.Launcher, err = StartHelper(m.Host, m.First); err != nil {
			return -1, err
		}
	}
	if fd, err = launcher.Ask(m.Launcher, p); err != nil || then == nil {
		return fd, err
	}
	if err := then(m.Launcher.Pid()); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Mount makes a mount of a source. Its mount namespace is a copy of the host's, which may have fallen behind where
// mounts do not propagate (mount_namespaces(7)): then a new copy is taken, once.
func (m *MountHelper) Mount(id host.SourceID, src *host.Source, attr uint64) (int, error) {
	p := plan.MountProgram(src, attr)
	fd, err := m.do(p, nil)
	if stale(err) {
		m.Mu.Lock()
		err = m.close()
		m.Mu.Unlock()
		if err == nil {
			fd, err = m.do(p, nil)
		}
	}
	if err == nil {
		return fd, nil
	}
	var e *spec.Error
	if errors.As(err, &e) || !errors.As(launcher.StepError("mount", p, err), &e) {
		return -1, err
	}
	if e.Op = id.Entry(); id.Upper {
		e.Op = id.String()
	}
	e.Fault, e.Remedy = doctor.Remedy(e.Op, e.Detail, e.Errno)
	return -1, doctor.Blame(e)
}

func stale(err error) bool {
	var oe *launcher.OpError
	return errors.As(err, &oe) && slices.Contains([]syscall.Errno{unix.ESTALE, unix.ENOENT, unix.ENOTDIR, unix.EINVAL},
		oe.Errno)
}

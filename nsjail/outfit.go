package nsjail

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"brig/internal/program"
	"brig/nsjail/doctor"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// outfitter is a second launcher, in the host's tree and, for an ordinary user, in the first one's user namespace: it makes
// what needs capabilities there, while the first makes jails.
type outfitter struct {
	host  *host.Host
	first *launcher.Launcher

	mu       sync.Mutex
	launcher *launcher.Launcher
	closed   bool
}

func (o *outfitter) start() (err error) {
	if o.launcher, err = launcher.Start(); err != nil {
		return err
	}
	var p *program.Program
	var fds []int
	if o.host.Drop {
		p = plan.DropProgram(o.host, rootCaps, rootCaps)
	} else {
		ns, err := userNamespace(o.first)
		if err != nil {
			return errors.Join(err, o.close())
		}
		p = program.New(3)
		p.Add("prepare", unix.SYS_SETNS, launcher.SlotUser.Arg(), program.Named(unix.CLONE_NEWUSER, "CLONE_NEWUSER"))
		p.Add("prepare", unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWNS, "CLONE_NEWNS"))
		fds = []int{ns}
	}
	err = perform(o.launcher, p, fds...)
	closeAll(fds)
	if err != nil {
		return errors.Join(opError("prepare", p, err), o.close())
	}
	return nil
}

// userNamespace opens the one that a launcher is in.
func userNamespace(s *launcher.Launcher) (int, error) {
	ns, err := unix.Open("/proc/"+strconv.Itoa(s.Pid())+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("open of the launcher's user namespace", err)
	}
	return ns, nil
}

// perform has a launcher perform a program that passes nothing back.
func perform(st *launcher.Launcher, p *program.Program, fds ...int) error {
	report, far, err := reportSocket()
	if err != nil {
		return err
	}
	defer report.Close()
	defer unix.Close(far)
	_, err = st.Do(p, program.Request{Kind: program.Self, Cgroup: -1}, append([]int{far}, fds...)...)
	return err
}

func (o *outfitter) close() error {
	if o.launcher == nil {
		return nil
	}
	err := o.launcher.Close()
	o.launcher = nil
	return err
}

// Close ends it.
func (o *outfitter) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return o.close()
}

// renew ends it until it is needed again.
func (o *outfitter) renew() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.close()
}

// do has a program performed that passes one descriptor; then is called before anything else is done there. A process
// that somebody has killed is replaced, once.
func (o *outfitter) do(p *program.Program, then func(pid int) error) (fd int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var oe *launcher.OpError
	had := o.launcher != nil
	if fd, err = o.try(p, then); err == nil || errors.As(err, &oe) || !had || o.closed {
		return fd, err
	}
	if err := o.close(); err != nil {
		return -1, err
	}
	return o.try(p, then)
}

func (o *outfitter) try(p *program.Program, then func(pid int) error) (fd int, err error) {
	if o.closed {
		return -1, os.ErrClosed
	}
	if o.launcher == nil {
		if err := o.start(); err != nil {
			return -1, err
		}
	}
	if fd, err = askLauncher(o.launcher, p); err != nil || then == nil {
		return fd, err
	}
	if err := then(o.launcher.Pid()); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// askLauncher has a launcher perform a program that passes one descriptor back.
func askLauncher(st *launcher.Launcher, p *program.Program, pass ...int) (fd int, err error) {
	sv, err := socketpair(unix.SOCK_SEQPACKET)
	if err != nil {
		return -1, err
	}
	defer closeAll(sv[:])
	if _, err := st.Do(p, program.Request{Kind: program.Self, Cgroup: -1}, append([]int{sv[1]}, pass...)...); err != nil {
		return -1, err
	}
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(sv[0], make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return -1, os.NewSyscallError("recvmsg from the launcher", err)
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return -1, err
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	if err != nil {
		return -1, err
	}
	return fds[0], nil
}

// mount makes a mount of a source. Its mount namespace is a copy of the host's, which may have fallen behind where
// mounts do not propagate (mount_namespaces(7)): then a new copy is taken, once.
func (o *outfitter) mount(key string, src *host.Source, attr uint64) (int, error) {
	p := plan.MountProgram(src, attr)
	fd, err := o.do(p, nil)
	if stale(err) {
		if err := o.renew(); err != nil {
			return -1, err
		}
		fd, err = o.do(p, nil)
	}
	if err == nil {
		return fd, nil
	}
	var e *spec.Error
	if errors.As(err, &e) || !errors.As(opError("mount", p, err), &e) {
		return -1, err
	}
	e.Fault, e.Remedy = remedy(strings.TrimSuffix(key, ".source"), e.Detail, e.Errno)
	e.Op = strings.TrimSuffix(key, ".source")
	return -1, doctor.Blame(e)
}

func stale(err error) bool {
	var oe *launcher.OpError
	return errors.As(err, &oe) && slices.Contains([]syscall.Errno{unix.ESTALE, unix.ENOENT, unix.ENOTDIR, unix.EINVAL}, oe.Errno)
}

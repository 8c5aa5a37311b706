package launcher

import (
	"errors"
	"os"
	"syscall"

	"brig/internal/program"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// InItself is the request for a launcher to perform a program in its own process.
var InItself = program.Request{Kind: program.Self, Cgroup: -1}

// Perform makes a launcher perform a program that returns no descriptor. Its error names the failed step, or phase.
func Perform(st *Launcher, phase string, p *program.Program, fds ...int) error {
	report, far, err := ReportSocket()
	if err != nil {
		return err
	}
	defer report.Close()
	defer unix.Close(far)
	_, err = st.Do(p, InItself, append([]int{far}, fds...)...)
	return StepError(phase, p, err)
}

// Ask makes a launcher perform a program, and returns the one descriptor that the program sends.
func Ask(st *Launcher, p *program.Program, pass ...int) (fd int, err error) {
	sv, err := Socketpair(unix.SOCK_SEQPACKET)
	if err != nil {
		return -1, err
	}
	defer CloseAll(sv[:])
	if _, err := st.Do(p, InItself, append([]int{sv[1]}, pass...)...); err != nil {
		return -1, err
	}
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(sv[0], make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
	if err != nil {
		return -1, os.NewSyscallError("recvmsg from the launcher", err)
	}
	fds, err := Descriptors(oob[:n])
	if err != nil {
		return -1, err
	}
	return fds[0], nil
}

// Descriptors returns the descriptors in one control message: unix(7) SCM_RIGHTS.
func Descriptors(oob []byte) ([]int, error) {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	return unix.ParseUnixRights(&msgs[0])
}

// ReportSocket returns the two ends of a report socket: the keeper's, and that of the jail, which only init will hold.
func ReportSocket() (ours *os.File, jail int, err error) {
	sv, err := Socketpair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, -1, err
	}
	if err := unix.SetNonblock(sv[0], true); err != nil {
		CloseAll(sv[:])
		return nil, -1, err
	}
	return os.NewFile(uintptr(sv[0]), "report"), sv[1], nil
}

// Socketpair returns a pair of Unix sockets of a type: socketpair(2).
func Socketpair(kind int) (sv [2]int, err error) {
	if sv, err = unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0); err != nil {
		err = spec.HostError("socketpair", err.Error(), "raise the limit on open files (ulimit -n)")
	}
	return sv, err
}

// StepError returns an error that names the failed operation of a program, or nil if err is nil.
func StepError(phase string, p *program.Program, err error) error {
	var oe *OpError
	var told *spec.Error
	switch {
	case err == nil, errors.As(err, &told), errors.Is(err, os.ErrClosed):
		return err
	case !errors.As(err, &oe):
		return &spec.Error{Fault: spec.FaultBrig, Op: phase, Detail: words.Plain(err.Error())}
	}
	if oe.Op < 0 || oe.Op >= len(p.Ops) {
		return &spec.Error{Fault: spec.FaultHost, Op: phase, Errno: oe.Errno}
	}
	op := &p.Ops[oe.Op]
	return &spec.Error{Fault: spec.FaultHost, Step: oe.Op + 1, Of: len(p.Ops), Op: op.Label,
		Detail: words.Plain(op.Call()),
		Errno:  oe.Errno}
}

// Reap kills and reaps a child that has no pidfd. Its pid cannot be reused before that.
func Reap(pid int) {
	_ = unix.Kill(pid, unix.SIGKILL) // it is our child, and not reaped
	_, _ = sys.Retry(func() (int, error) { return syscall.Wait4(pid, nil, 0, nil) })
}

// CloseAll closes descriptors.
func CloseAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}

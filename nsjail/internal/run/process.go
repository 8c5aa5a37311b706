package run

import (
	"encoding/binary"
	"errors"
	"os"
	"time"

	"brig/internal/sys"
	"brig/nsjail/internal/launcher"

	"golang.org/x/sys/unix"
)

// Process is the first process of a jail, as the keeper holds it, or a process of a box: the keeper has no descriptor
// of that, and its pid is that in the box.
type Process struct {
	Pid    int
	Pidfd  *os.File
	Report *os.File // the keeper's end of the report socket
	Alone  bool     // it becomes the payload: there is no init
	InBox  bool     // the box's init takes its signals, and reports its end
}

// EndWait is the time that processes get to end after SIGKILL. Two that trace each other (PTRACE_O_TRACEEXIT, which
// every filter except unconfined refuses) never end. A process in a system call on a dead NFS or FUSE server may not
// end either.
const EndWait = launcher.EndSeconds * time.Second

// ErrNoReport means that the far end of the report socket is closed everywhere.
var ErrNoReport = errors.New("no report")

// Signal sends a signal to the process.
func (p *Process) Signal(s unix.Signal) error {
	if p.InBox {
		if s == unix.SIGKILL { // of its session
			s = 0
		}
		if p.Tell(byte(s)) != nil {
			return os.ErrProcessDone
		}
		return nil
	}
	err := sys.Control(p.Pidfd, func(fd int) error { return unix.PidfdSendSignal(fd, s, nil, 0) })
	if _, told := err.(unix.Errno); err == unix.ESRCH || err != nil && !told { // the pidfd is closed
		return os.ErrProcessDone
	}
	return err
}

// Tell sends init a byte. An error means that the jail has ended.
func (p *Process) Tell(what byte) error {
	_, err := p.Report.Write([]byte{what})
	return err
}

// Receive reads one message from the report socket: a report, or descriptors (network sockets, upper directories,
// terminal master) with their tag in rep.A.
func (p *Process) Receive() (launcher.Report, []int, error) { return Receive(p.Report) }

// Receive reads one message from a report socket.
func Receive(report *os.File) (rep launcher.Report, fds []int, err error) {
	var buf [launcher.ReportSize]byte
	oob := make([]byte, unix.CmsgSpace(4*launcher.MaxFDs))
	var n, oobn int
	read := func(fd int) (err error) {
		n, oobn, _, _, err = unix.Recvmsg(fd, buf[:], oob, unix.MSG_CMSG_CLOEXEC)
		return err
	}
	if err = sys.Await(report, read); err == unix.ECONNRESET {
		// the jail failed with its suffix unread: the kernel reports this once, before it delivers the jail's messages
		err = sys.Await(report, read)
	}
	switch {
	case err != nil:
		return rep, nil, os.NewSyscallError("recvmsg", err)
	case n == 0:
		return rep, nil, ErrNoReport
	case oobn > 0:
		fds, err = launcher.Descriptors(oob[:oobn])
		rep.A = int(buf[0])
		return rep, fds, err
	}
	rep, err = launcher.ParseReport(buf[:n])
	return rep, nil, err
}

// Next returns the type of the next report, which it leaves in the socket; 0 for none.
func (p *Process) Next() int {
	var b [4]byte
	n := 0
	err := sys.Control(p.Report, func(fd int) (err error) {
		n, _, err = unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return err
	})
	if err != nil || n < len(b) {
		return 0
	}
	return int(binary.NativeEndian.Uint32(b[:]))
}

// Denied reads init's counters of refused calls, which follow its last report. It returns nil if init was killed before
// it has sent them.
func (p *Process) Denied() []uint64 {
	buf, n := make([]byte, launcher.DeniedSize+1), 0
	err := sys.Await(p.Report, func(fd int) (err error) {
		n, err = unix.Read(fd, buf)
		return err
	})
	if err != nil {
		return nil
	}
	counts, _ := launcher.ParseDenied(buf[:n]) // nil with an error
	return counts
}

// Await waits until the report socket, or without init the pidfd, is readable. It needs little stack: Go's garbage
// collector shrinks the stack of a goroutine that uses less than a quarter of it.
func (p *Process) Await() {
	f := p.Report
	if p.Alone {
		f = p.Pidfd
	}
	rc, err := f.SyscallConn()
	if err != nil {
		return // the next read returns the error
	}
	_ = rc.Read(readable) // likewise
}

// readable reports whether a descriptor is readable or at its end: poll(2).
func readable(fd uintptr) bool {
	p := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p[:], 0)
	return n > 0 || err != nil && err != unix.EINTR
}

// Wait waits for the process through its pidfd, and reaps it. The kernel lets that process end only after all other
// processes of the pid namespace. The wait is bounded by most.
func (p *Process) Wait(most time.Duration) (status unix.WaitStatus, usage launcher.Usage, err error) {
	if p.InBox { // its report is its end
		return 0, usage, nil
	}
	if !p.Alone { // otherwise Hurry sets the deadline, or the jail has ended
		if err := p.Pidfd.SetReadDeadline(time.Now().Add(most)); err != nil {
			return 0, usage, err
		}
	}
	sampled := sampledTime(p.Pid)
	status, ru, err := p.reap()
	usage = launcher.UsageOf(&ru)
	usage.Sampled = sampled
	return status, usage, err
}

// reap waits for the process until the deadline of the pidfd: wait4(2). Its pid cannot be reused before.
func (p *Process) reap() (ws unix.WaitStatus, ru unix.Rusage, err error) {
	err = sys.Await(p.Pidfd, func(int) error {
		pid, err := unix.Wait4(p.Pid, &ws, unix.WNOHANG|unix.WALL, &ru)
		if err == nil && pid == 0 {
			return unix.EAGAIN
		}
		return err
	})
	return ws, ru, os.NewSyscallError("wait4", err)
}

// ReapLater reaps a process that did not end in time when it ends, and closes its pidfd.
func (p *Process) ReapLater() {
	go func() {
		defer p.Pidfd.Close()
		if p.Pidfd.SetReadDeadline(time.Time{}) == nil {
			_, _, _ = p.reap() // no caller waits for the error
		}
	}()
}

// sampledTime returns the processor time of a process as RLIMIT_CPU counts it (its CPUCLOCK_PROF,
// clock_getcpuclockid(3)), or 0 if the process is gone.
func sampledTime(pid int) time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(int32(^pid<<3), &t) // an error means that the process is gone
	return time.Duration(t.Nano())
}

// Close closes the descriptors, if there are any.
func (p *Process) Close() error {
	var errs []error
	for _, f := range []*os.File{p.Report, p.Pidfd} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

package trace

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tracer follows the processes of one run.
type tracer struct {
	root    int // brig run
	threads map[int]*thread
	calls   map[uint64]call
	seen    *record
	started bool // the payload's execve(2) has succeeded
	code    int
}

// thread is a thread that is traced. Only those of the payload stop at each system call.
type thread struct {
	payload bool
	nr      uint64
	args    [6]uint64
	known   bool // nr and args are of the call that the thread is in
}

// loop resumes whatever stops, until no tracee is left: wait4(2), ptrace(2).
func (t *tracer) loop() error {
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ECHILD:
			return nil
		case err != nil:
			return fmt.Errorf("wait4: %w", err)
		case !ws.Stopped():
			delete(t.threads, pid)
			if pid == t.root {
				t.code = code(ws)
			}
			continue
		}
		t.stopped(pid, ws)
	}
}

func code(ws unix.WaitStatus) int {
	if ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return ws.ExitStatus()
}

// stopped handles one stop, and resumes the thread. A thread that is killed meanwhile fails each request with ESRCH,
// and its end is what the next wait4(2) returns.
func (t *tracer) stopped(pid int, ws unix.WaitStatus) {
	th := t.threads[pid]
	if th == nil {
		th = &thread{payload: t.started && t.seen.inJail(pid)}
		t.threads[pid] = th
	}
	how, sig := uintptr(unix.PTRACE_CONT), uintptr(0)
	stop, event := ws.StopSignal(), uint32(ws)>>16
	switch {
	case event == unix.PTRACE_EVENT_STOP && stop != unix.SIGTRAP:
		how = unix.PTRACE_LISTEN // stopped by SIGSTOP and its like, until SIGCONT
	case event == unix.PTRACE_EVENT_EXEC:
		th.known = false
		var was uintptr // the number of the thread that has called execve(2), if it was not the first one
		if ptrace(unix.PTRACE_GETEVENTMSG, pid, uintptr(unsafe.Pointer(&was))) == nil && int(was) != pid {
			delete(t.threads, int(was))
		}
		if !th.payload && pid != t.root && t.seen.inJail(pid) {
			th.payload, t.started = true, true
			t.seen.open(pid)
		}
	case event != 0:
	case stop == unix.SIGTRAP|0x80:
		if th.payload {
			t.call(pid, th)
		}
	default:
		sig = uintptr(stop)
	}
	if th.payload && how == unix.PTRACE_CONT {
		how = unix.PTRACE_SYSCALL
	}
	_ = ptrace(how, pid, sig) // ESRCH: it has been killed
}

func ptrace(request uintptr, pid int, data uintptr) error {
	if _, _, e := unix.Syscall6(unix.SYS_PTRACE, request, uintptr(pid), 0, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

// info is struct ptrace_syscall_info, PTRACE_GET_SYSCALL_INFO: Linux 5.3.
type info struct {
	op   uint8
	_    [3]uint8
	arch uint32
	ip   uint64
	sp   uint64
	data [8]uint64 // entry: nr, args; exit: rval, is_error
}

const (
	getSyscallInfo = 0x420e
	atEntry        = 1
	atExit         = 2
)

// call remembers a system call at its beginning, and records it at its end.
func (t *tracer) call(pid int, th *thread) {
	var in info
	n, _, e := unix.Syscall6(unix.SYS_PTRACE, getSyscallInfo, uintptr(pid), unsafe.Sizeof(in),
		uintptr(unsafe.Pointer(&in)), 0, 0)
	if e != 0 || n < 33 || in.arch != nativeArch {
		th.known = false
		return
	}
	switch in.op {
	case atEntry:
		th.nr, th.known = in.data[0], true
		copy(th.args[:], in.data[1:7])
	case atExit:
		if th.known {
			t.ended(pid, th, int64(in.data[0]), in.data[1]&0xff != 0)
		}
		th.known = false
	}
}

// Package count counts what a command asks of the kernel: the system calls and the minor faults of all its processes.
package count

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Counts are those of a command and of every process and thread that it has made. Calls do not include those by which
// threads wait for each other and Go's monitor waits: their number depends on when each happens to run.
type Counts struct{ Calls, Faults int }

// waits are these calls: futex(2), nanosleep(2), ..., and those that Go interrupts a thread with.
var waits = []uint64{unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_EPOLL_PWAIT, unix.SYS_SCHED_YIELD, unix.SYS_GETPID,
	unix.SYS_TGKILL, unix.SYS_RT_SIGRETURN, unix.SYS_RESTART_SYSCALL}

// Command is a program by its path, with its arguments and variables. As is the user that runs it, if not the caller.
type Command struct {
	Args, Env []string
	As        *syscall.Credential
}

// Least returns the least of each count of ten runs or, if enough is given, of as many as it takes until that reports
// true, for at most a minute. Every run makes the calls and touches the pages that the command needs. What comes on top
// depends on when its threads happen to run and on what else the machine does. So the least is nearly the same every
// day, and the mean is not.
func (c Command) Least(enough func(Counts) bool) (least Counts, err error) {
	const most = time.Minute // other processes' control groups can be beside a jail's for so long
	for i, begin := 0, time.Now(); i < 10 || enough != nil && time.Since(begin) < most; i++ {
		n, err := c.count()
		if err != nil {
			return least, fmt.Errorf("%q: %w", c.Args, err)
		}
		if i == 0 {
			least = n
		}
		least.Calls, least.Faults = min(least.Calls, n.Calls), min(least.Faults, n.Faults)
		if enough != nil && enough(least) {
			break
		}
	}
	return least, nil
}

// count runs a command under ptrace(2) and waits for every process that it makes. Its stdin and stdout are /dev/null.
// It is an error if the command does not exit with 0.
func (c Command) count() (n Counts, err error) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return n, err
	}
	defer null.Close()
	pid, err := syscall.ForkExec(c.Args[0], c.Args, &syscall.ProcAttr{Env: c.Env,
		Files: []uintptr{null.Fd(), null.Fd(), 2}, Sys: &syscall.SysProcAttr{Ptrace: true, Credential: c.As}})
	if err != nil {
		return n, err
	}
	if _, ws, err := wait(pid); err != nil || !ws.Stopped() {
		return n, fmt.Errorf("no stop after execve(2): %#x, %v", uint32(ws), err)
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_TRACESYSGOOD|unix.PTRACE_O_TRACEEXEC|unix.PTRACE_O_TRACEEXIT|
		unix.PTRACE_O_TRACEFORK|unix.PTRACE_O_TRACEVFORK|unix.PTRACE_O_TRACECLONE|unix.PTRACE_O_EXITKILL); err != nil {
		return n, err
	}
	t := tracer{alive: map[int]bool{pid: true}}
	err = errors.Join(t.resume(pid, 0), t.follow(pid))
	return t.counts, err
}

type tracer struct {
	alive  map[int]bool // each thread that it has heard of
	counts Counts
}

// follow lets each thread go on that stops, until all have ended.
func (t *tracer) follow(first int) (failed error) {
	for slices.Contains(slices.Collect(maps.Values(t.alive)), true) {
		at, ws, err := wait(-1)
		if err == nil && ws.Stopped() {
			var pass int
			if pass, err = t.stop(at, ws); err == nil {
				err = t.resume(at, pass)
			}
		} else if err == nil {
			t.alive[at] = false
			if at == first && ws != 0 {
				failed = fmt.Errorf("it ended with wait status %#x", uint32(ws))
			}
		}
		if err != nil {
			return err
		}
	}
	return failed
}

// stop counts what a thread has stopped for, and returns the signal to resume it with.
func (t *tracer) stop(at int, ws unix.WaitStatus) (pass int, err error) {
	sig, cause := ws.StopSignal(), ws.TrapCause()
	switch {
	case sig == unix.SIGTRAP|0x80: // before or after a call
		return 0, t.call(at)
	case cause == unix.PTRACE_EVENT_EXIT:
		n, err := faults(at)
		t.counts.Faults += n
		return 0, err
	case cause == unix.PTRACE_EVENT_FORK, cause == unix.PTRACE_EVENT_VFORK, cause == unix.PTRACE_EVENT_CLONE:
		child, err := unix.PtraceGetEventMsg(at)
		if _, seen := t.alive[int(child)]; !seen {
			t.alive[int(child)] = true
		}
		return 0, err
	case sig != unix.SIGTRAP && sig != unix.SIGSTOP: // a new thread has the latter
		return int(sig), nil
	}
	return 0, nil
}

// call counts the call that a thread has stopped before.
func (t *tracer) call(at int) error {
	var info struct { // ptrace(2), PTRACE_GET_SYSCALL_INFO
		op     uint8
		_      [3]uint8
		arch   uint32
		ip, sp uint64
		nr     uint64
		args   [6]uint64
	}
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(at), unsafe.Sizeof(info),
		uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 && errno != unix.ESRCH {
		return errno
	}
	if info.op == unix.PTRACE_SYSCALL_INFO_ENTRY && !slices.Contains(waits, info.nr) {
		t.counts.Calls++
	}
	return nil
}

func (t *tracer) resume(at, pass int) error {
	if err := unix.PtraceSyscall(at, pass); err != unix.ESRCH { // ESRCH: it has been killed while it was stopped
		return err
	}
	return nil
}

// wait waits for a child, or with -1 for any thread that this thread traces: wait4(2).
func wait(pid int) (at int, ws unix.WaitStatus, err error) {
	for {
		if at, err = unix.Wait4(pid, &ws, unix.WALL|unix.WNOTHREAD, nil); err != unix.EINTR {
			return at, ws, err
		}
	}
}

// faults returns the minor faults of one thread: proc_pid_stat(5), the tenth field.
func faults(thread int) (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/stat", thread))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the name before it may have spaces
	return strconv.Atoi(f[10-3])
}

// Package trace watches a jail from outside and records the system calls that fail in it: ptrace(2).
//
// The tracee is a `brig run` of this binary, so the jail is the same as without a tracer, with every fence. The tracer
// is its ancestor, outside of all its namespaces, and follows each process from its birth. It changes nothing in the
// payload; what it reads there, names and addresses, is bounded and trusted for nothing: a payload that changes an
// argument before it is read chooses what is recorded, as it could by a call that it means. If the tracer ends, the
// kernel kills the tracees (PTRACE_O_EXITKILL).
//
// A process of the payload that is itself traced, or that is made with CLONE_UNTRACED, is not seen. It has the same
// fences.
package trace

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"

	"brig/learn"

	"golang.org/x/sys/unix"
)

// Run is a `brig run` to watch.
type Run struct {
	Cmd    *exec.Cmd // not started; Run fills SysProcAttr
	Places []learn.Place
	// Pid, if set, holds the process id of brig while it runs.
	Pid *atomic.Int64
}

// Seen describes a run that was watched.
type Seen struct {
	ExitCode int // of brig
	Started  bool
	Events   []learn.Event
	Dropped  int // events beyond the bound
}

// Watch starts the command, follows it until it and all its processes have ended, and returns what has failed in the
// jail.
func (r *Run) Watch() (*Seen, error) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	pid, err := r.start()
	if err != nil {
		return nil, err
	}
	if r.Pid != nil {
		r.Pid.Store(int64(pid))
		defer r.Pid.Store(0)
	}
	t := &tracer{root: pid, threads: map[int]*thread{}, calls: calls(), seen: newRecord(r.Places)}
	defer t.seen.close()
	if err := t.loop(); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the tracees end with this process at the latest
		return nil, err
	}
	return &Seen{ExitCode: t.code, Started: t.started, Events: t.seen.list, Dropped: t.seen.dropped}, nil
}

const options = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE |
	unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC

// start starts the command, stopped behind its execve(2), and seizes it: only a seized process can be stopped by a
// signal as if it were not traced.
func (r *Run) start() (pid int, err error) {
	r.Cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := r.Cmd.Start(); err != nil {
		return 0, refused(err)
	}
	pid = r.Cmd.Process.Pid
	defer func() {
		if err != nil {
			err = errors.Join(refused(err), r.Cmd.Process.Kill())
		}
	}()
	if err := await(pid, unix.SIGTRAP, 0); err != nil {
		return pid, err
	}
	if err := ptrace(unix.PTRACE_DETACH, pid, uintptr(unix.SIGSTOP)); err != nil {
		return pid, err
	}
	if err := await(pid, unix.SIGSTOP, unix.WUNTRACED); err != nil {
		return pid, err
	}
	if err := ptrace(unix.PTRACE_SEIZE, pid, options); err != nil {
		return pid, err
	}
	return pid, syscall.Kill(pid, syscall.SIGCONT)
}

// await waits until the process has stopped with a signal: wait4(2).
func await(pid int, sig unix.Signal, flags int) error {
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &ws, flags|unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err == nil && (!ws.Stopped() || ws.StopSignal() != sig) {
			err = fmt.Errorf("brig run has not stopped at its start, but with status %#x", uint32(ws))
		}
		return err
	}
}

// refused adds to an error what forbids ptrace(2) here.
func refused(err error) error {
	why := "the kernel or a filter around brig refuses ptrace(2)"
	if scope, e := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope"); e == nil && strings.TrimSpace(string(scope)) > "1" {
		why = "kernel.yama.ptrace_scope is " + strings.TrimSpace(string(scope)) +
			", which lets only an administrator trace, or nobody: run it as root, or set it to 1 with sysctl(8)"
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("the jail cannot be traced: %w; %s", err, why)
	}
	return err
}

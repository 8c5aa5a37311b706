package nsjail

import (
	"fmt"
	"runtime"
	"strconv"
	"unsafe"

	"brig/internal/program"
	"brig/nsjail/internal/launcher"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// lookListener asks whether init can listen to the payload's filter. A thread has one listener at most: where a filter
// above brig's has one already (a supervisor of containers), the kernel gives EBUSY, and only an attempt can tell.
func (h *Host) lookListener(s *Spec) error {
	mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	if err != nil || mode == 0 || s.NoInit || s.Seccomp == "unconfined" {
		return nil // without a filter above, nothing is in the way; the rest needs no listener
	}
	answer := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine, and its filter with it
		answer <- tryListener()
	}()
	if err := <-answer; err != nil {
		h.NoListener = "seccomp: " + err.Error() + ": the caller is under a filter that does not allow another listener"
	}
	return nil
}

// tryListener loads a filter that allows everything, with a listener, on the calling thread.
func tryListener() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
	prog := unix.SockFprog{Len: 1, Filter: &allow}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// minFiles is the least limit on open files with which a listener fits beside the standard streams.
const minFiles = 4

// listen makes init the listener of the payload's filter, if anything is to be heard: a call that the profile answers
// with death is then reported by name. Where that is not possible, the kernel kills, and nobody learns for what.
func (r *resolver) listen() {
	h := r.host
	heard, changed := seccomp.NotifyKills(h.Filter)
	if r.spec.NoInit || r.spec.Seccomp == "unconfined" || h.Missing["seccomp"] != "" || !changed {
		return
	}
	why := h.NoListener
	for _, nr := range []int{unix.SYS_EXECVE, unix.SYS_EXIT_GROUP} { // init waits for these calls, and would not hear
		if seccomp.Simulate(heard, seccomp.Data{Nr: int32(nr), Args: [6]uint64{125}}) == seccomp.Notify {
			why = "the profile kills for execve or exit_group, which the start of a payload needs"
		}
	}
	if l, ok := r.spec.Limits.Rlimits["nofile"]; ok && l.Soft >= 0 && l.Soft < minFiles {
		why = fmt.Sprintf("the limit of %d open files leaves no room for a listener", l.Soft)
	}
	if why != "" {
		r.Notes = append(r.Notes, "a violation of the filter will not be named: "+why)
		return
	}
	r.heard = heard
	r.listener = r.Jail.Reserve()
}

// forkArgs are the arguments of program.Fork; init performs so many operations itself.
func (r *resolver) forkArgs(own int) []program.Arg {
	listener := program.Int(0)
	if r.heard != nil {
		listener = program.Named(int(r.listener), "&$"+strconv.Itoa(int(r.listener)))
	}
	args := []program.Arg{launcher.SlotReport.Arg(), listener, program.Int(len(r.Disks))}
	if own > 0 {
		args = append(args, program.Named(own, fmt.Sprintf("%d /* operations that follow: init's, at the same time */", own)))
	}
	return args
}

// heed keeps what init has seen beside the payload's end.
func (c *Cmd) heed(rep *launcher.Report) {
	o := &c.state
	o.violation, o.listened = rep.Violation, c.plan.heard != nil
	o.disk = rep.Disk.Used
	for i, targets := range c.plan.Disks {
		if rep.Disk.Full&(1<<i) != 0 {
			o.full = append(o.full, targets...)
		}
	}
}

// Violation is a system call that the filter answers with death. Where init listens to the filter, it is the payload's
// own last call, or else the first of any process of the jail; every process that makes one is killed.
type Violation struct {
	Syscall string `json:"syscall,omitempty"` // its name; "" where nobody knows one
	Number  int    `json:"number"`
	Arch    string `json:"arch"`  // the ABI: a number means nothing without it
	Count   int    `json:"count"` // of all violations
}

// newViolation names what init has seen; nil if nothing.
func newViolation(v launcher.Violation) *Violation {
	if v.Count == 0 {
		return nil
	}
	out := &Violation{Number: v.Nr, Count: v.Count}
	out.Syscall, out.Arch = seccomp.CallName(int32(v.Nr), v.Arch)
	return out
}

// String is the call for a reader: "ptrace", "getpid of the i386 ABI".
func (v *Violation) String() string {
	name := v.Syscall
	if name == "" {
		name = "system call " + strconv.Itoa(v.Number)
	}
	if v.Arch != seccomp.NativeABI() {
		name += " of the " + v.Arch + " ABI"
	}
	return name
}

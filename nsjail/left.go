package nsjail

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/internal/sys"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// endWait is the time that processes get to end after SIGKILL. Two that trace each other (PTRACE_O_TRACEEXIT, which
// every filter except unconfined refuses) never end. A process in a system call on a dead NFS or FUSE server may not
// end either.
const endWait = launcher.EndSeconds * time.Second

// hurry bounds the wait for the jail's first process by endWait. Without init that process is the payload, and a
// process that it traces, or that traces it, may prevent its end. So hurry also kills its descendants, repeatedly while
// there are any.
func (c *Cmd) hurry() {
	if !c.Spec.NoInit {
		return // the report socket closes when init ends
	}
	end := time.Now().Add(endWait)
	_ = c.pidfd.SetReadDeadline(end) // an error means that the pidfd is closed: the jail has ended
	var pass func()
	pass = func() {
		if killBelow(c.pid) && time.Now().Before(end) && !c.state.done.Load() {
			time.AfterFunc(endGrace, pass)
		}
	}
	pass()
}

// killBelow sends SIGKILL to all descendants of a process, and reports whether there were any.
func killBelow(pid int) (any bool) {
	return signalBelow(pid, unix.SIGKILL, func(int) bool { return true })
}

// signalOthers sends a signal to the other processes of the group of a session's leader.
func signalOthers(leader int, s unix.Signal) {
	signalBelow(leader, s, func(p int) bool {
		group, err := unix.Getpgid(p)
		return err == nil && group == leader
	})
}

// byDefault reports whether a process neither handles nor ignores a signal: proc_pid_status(5).
func byDefault(pid int, s unix.Signal) bool {
	status, err := sys.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	for _, field := range []string{"\nSigIgn:\t", "\nSigCgt:\t"} {
		_, mask, _ := strings.Cut(string(status), field)
		mask, _, _ = strings.Cut(mask, "\n")
		set, err := strconv.ParseUint(mask, 16, 64)
		if err != nil || set&(1<<(s-1)) != 0 {
			return false
		}
	}
	return true
}

// signalBelow sends a signal to the chosen descendants of a process, and reports whether there were any. It opens a
// pidfd for each and checks again that it is a descendant before it sends the signal, so that a reused pid is not hit.
func signalBelow(pid int, s unix.Signal, chosen func(pid int) bool) (any bool) {
	for _, p := range sys.Descendants(pid) {
		fd, err := unix.PidfdOpen(p, 0)
		if err != nil {
			continue
		}
		if slices.Contains(sys.Descendants(pid), p) && chosen(p) {
			any = true
			_ = unix.PidfdSendSignal(fd, s, nil, 0) // an error means that the process has ended
		}
		unix.Close(fd)
	}
	return any
}

// giveBack returns the jail's network namespace to the pool. err is the error of the wait for the jail's processes. If
// they did not end in time, giveBack drops the namespace instead, and reaps the first process in the background when it
// ends.
func (c *Cmd) giveBack(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.net.Back()
		return errors.Join(err, c.pidfd.Close())
	}
	go func() {
		defer c.pidfd.Close()
		if c.pidfd.SetReadDeadline(time.Time{}) == nil {
			_, _, _ = c.reap() // no caller waits for the error
		}
	}()
	c.net.Drop()
	var names []string
	for _, p := range append([]int{c.pid}, sys.Descendants(c.pid)...) {
		names = append(names, strconv.Itoa(p))
	}
	return &spec.Error{Fault: spec.FaultHost, Op: opEnd, Detail: fmt.Sprintf("processes %s did not end within %s of "+
		"SIGKILL",
		strings.Join(names, " "), endWait),
		Remedy: "look at /proc/PID/stack as root for what they wait for"}
}

const opEnd = "end"

// stuckBy returns the error of giveBack that names the processes which did not end, or nil. The other resources are
// released then.
func stuckBy(err error) *spec.Error {
	if e, ok := errors.AsType[*spec.Error](err); ok && e.Op == opEnd {
		return e
	}
	return nil
}

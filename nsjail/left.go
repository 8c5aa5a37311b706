package nsjail

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// endWait bounds the wait for processes after their SIGKILL. Two that trace each other (PTRACE_O_TRACEEXIT, which every
// filter but unconfined refuses) never end, and one in a system call on a dead NFS or FUSE server may not.
const endWait = launcher.EndSeconds * time.Second

// hurry ends the wait for the jail's first process in endWait. Without init that process is the payload's, and one that
// it traces or that traces it may keep it from ending: all others are killed, too, as long as new ones come.
func (c *Cmd) hurry() {
	if !c.Spec.NoInit {
		return // init's own end closes the report socket
	}
	end := time.Now().Add(endWait)
	_ = c.pidfd.SetReadDeadline(end) // an error means that it is closed: the jail has ended
	var pass func()
	pass = func() {
		if killBelow(c.pid) && time.Now().Before(end) && !c.state.done.Load() {
			time.AfterFunc(endGrace, pass)
		}
	}
	pass()
}

// killBelow sends SIGKILL to all descendants of a process, and reports whether there were any. Each is held by a pidfd,
// and looked for again below its parent before the signal is sent, so its number cannot have been reused meanwhile.
func killBelow(pid int) (any bool) {
	for _, p := range below(pid) {
		fd, err := unix.PidfdOpen(p, 0)
		if err != nil {
			continue
		}
		if slices.Contains(below(pid), p) {
			any = true
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // an error means that it has ended
		}
		unix.Close(fd)
	}
	return any
}

// below lists the descendants of a process: /proc/PID/task/TID/children, proc(5).
func below(pid int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is well-formed
	for _, t := range tasks {
		text, err := os.ReadFile(t)
		if err != nil {
			continue // a thread that has ended
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(append(list, child), below(child)...)
			}
		}
	}
	return list
}

// giveBack returns the jail's network namespace to the pool. If processes did not end in time, it drops the namespace,
// and reaps them if they ever end. err is the error of the wait for them.
func (c *Cmd) giveBack(err error) error {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.net.Back()
		return errors.Join(err, c.pidfd.Close())
	}
	go func() {
		defer c.pidfd.Close()
		if rc, err := c.pidfd.SyscallConn(); err == nil && c.pidfd.SetReadDeadline(time.Time{}) == nil {
			_ = rc.Read(func(fd uintptr) bool {
				return unix.Waitid(unix.P_PIDFD, int(fd), nil, unix.WEXITED, nil) != unix.EAGAIN
			})
		}
	}()
	c.net.Drop()
	var names []string
	for _, p := range append([]int{c.pid}, below(c.pid)...) {
		names = append(names, strconv.Itoa(p))
	}
	return &spec.Error{Fault: spec.FaultHost, Op: opEnd, Detail: fmt.Sprintf("processes %s did not end within %s of "+
		"SIGKILL",
		strings.Join(names, " "), endWait),
		Remedy: "look at /proc/PID/stack as root for what they wait for"}
}

const opEnd = "end"

// stuck reports whether the wait for a jail's processes was given up. Everything else that the jail held is released
// then.
func stuck(err error) bool {
	var e *spec.Error
	return errors.As(err, &e) && e.Op == opEnd
}

package main

import (
	"errors"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// late is how much later than asked for a timer of the server may be.
const late = 5_000_000 // ns

// lazy starts this program again, with timers that may be late, and so that its threads do not interrupt others when
// they wake up. It returns in the new program. The server works for some microseconds at a time, hundreds of times a
// second: meanwhile Go's runtime looked at it every 20 µs, and it interrupted brigd and its jails. A thread inherits
// both from the one that starts it, and the runtime has threads before main.
func lazy() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if slack, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || slack == late {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	a, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return err
	}
	a.Policy = unix.SCHED_BATCH // sched(7)
	if err := errors.Join(unix.SchedSetAttr(0, a, 0), unix.Prctl(unix.PR_SET_TIMERSLACK, late, 0, 0, 0)); err != nil {
		return err
	}
	return syscall.Exec(self, os.Args, os.Environ())
}

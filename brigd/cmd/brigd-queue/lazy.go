package main

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// late is how much later than asked for a timer of the server may be.
const late = 5_000_000 // ns

// lazy starts this program again, with timers that may be late. It returns in the new program. The server works for
// some microseconds at a time, hundreds of times a second, and Go's runtime looked at it every 20 µs meanwhile.
// A thread inherits the slack from the one that starts it, and the runtime has threads before main.
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
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, late, 0, 0, 0); err != nil { // prctl(2)
		return err
	}
	return syscall.Exec(self, os.Args, os.Environ())
}

package desk

import (
	"runtime"
	"time"
	"unsafe"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// passTime is how long what came with a SIGCONT may take to reach the jail, on a busy machine. lastTime is how much of
// it is left once the SIGCONT itself has been passed on, and pollTime how often this is looked at.
const (
	passTime = time.Second
	lastTime = 100 * time.Millisecond
	pollTime = 10 * time.Millisecond
)

// foreground asks for the caller's terminal while it is another process group's: it stops this process's group, as the
// kernel does at the use of the terminal. The kernel repeats that use as soon as the group is continued, and so would
// stop it again before a signal that came with SIGCONT, as from a shell's kill, has been passed on. It reports whether
// the terminal may be used, and not when the payload has been asked to end. passed is how many SIGCONT had been passed
// on before the last stop, or -1 without one.
func (d *Desk) foreground(sig unix.Signal) (passed int, ok bool) {
	d.asks.Lock()
	defer d.asks.Unlock()
	defer d.ask(false)
	for passed = -1; d.background(); {
		var leaving bool
		if passed, leaving = d.ask(true); leaving {
			return -1, false
		}
		if !stop(sig) { // an orphaned group, or the signal is ignored: the use of the terminal is an error
			return passed, true
		}
		if d.background() && d.endsMeanwhile(passed) {
			return -1, false
		}
	}
	return passed, true
}

// mayShow is foreground for a write, which the kernel refuses in the background only if the terminal is set so: TOSTOP
// of termios(3).
func (d *Desk) mayShow() bool {
	if !d.background() {
		return true
	}
	if modes, err := unix.IoctlGetTermios(d.in, unix.TCGETS); err != nil || modes.Lflag&unix.TOSTOP == 0 {
		return true
	}
	_, ok := d.foreground(unix.SIGTTOU)
	return ok
}

// ask tells that this process asks for the terminal, or no more.
func (d *Desk) ask(asking bool) (passed int, leaving bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asking = asking
	return d.passed, d.leaving
}

// endsMeanwhile waits until the signals that this process has been continued with have been passed on. It reports
// whether the jail has ended.
func (d *Desk) endsMeanwhile(passed int) bool {
	p := [1]unix.PollFd{{Fd: int32(d.ends), Events: unix.POLLIN}}
	for end := time.Now().Add(passTime); time.Now().Before(end); {
		n, err := sys.Retry(func() (int, error) { return unix.Poll(p[:], int(pollTime.Milliseconds())) })
		if err != nil || n > 0 {
			return true
		}
		now, leaving := d.ask(true)
		if leaving {
			return false
		}
		if last := time.Now().Add(lastTime); now != passed && last.Before(end) {
			passed, end = now, last
		}
	}
	return false
}

// Ending tells that the payload is being asked to end: in the background this process waits for the caller's terminal
// no more. It reports whether the payload may be stopped for want of that terminal, and has to be continued to end.
func (d *Desk) Ending() bool {
	if d == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.leaving = true
	return d.asking
}

// stop stops the process group with SIGTTIN or SIGTTOU. It reports true once it has been continued, and false if the
// signal stops nothing. Both signals are blocked in this thread meanwhile: the stop is over when one that stops is
// unblocked, and SIGCONT has discarded the other, which is the mark, too: signal(7).
func stop(sig unix.Signal) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	mark := unix.SIGTTIN + unix.SIGTTOU - sig
	var old unix.Sigset_t
	both, one := set(sig, mark), set(sig)
	if unix.PthreadSigmask(unix.SIG_BLOCK, &both, &old) != nil {
		return false
	}
	pid, thread := unix.Getpid(), unix.Gettid()
	if unix.Tgkill(pid, thread, mark) == nil && unix.Tgkill(pid, thread, sig) == nil {
		_ = unix.Kill(0, sig) // the other programs of a pipeline
	}
	_ = unix.PthreadSigmask(unix.SIG_UNBLOCK, &one, nil)
	marked, now := set(mark), unix.Timespec{}
	_, _, errno := unix.Syscall6(unix.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&marked)), 0,
		uintptr(unsafe.Pointer(&now)), 8, 0, 0)
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil)
	return errno == unix.EAGAIN
}

// set returns a set of signals.
func set(signals ...unix.Signal) (s unix.Sigset_t) {
	for _, sig := range signals {
		bits := 8 * int(unsafe.Sizeof(s.Val[0]))
		s.Val[(int(sig)-1)/bits] |= 1 << ((int(sig) - 1) % bits)
	}
	return s
}

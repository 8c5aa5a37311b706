package host

import (
	"runtime"
	"unsafe"

	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// lookListener asks whether init can listen to the payload's filter. A thread has one listener at most: where a filter
// above brig's has one already (a supervisor of containers), the kernel returns EBUSY, and only an attempt can tell.
func (h *Host) lookListener(s *spec.Spec) error {
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
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

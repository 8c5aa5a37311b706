package load

import (
	"fmt"
	"os"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A probe is repeated and its fastest time counts, since other work of the machine has disturbed that one least. A
// probe that takes longer than enough is not repeated.
const (
	tries  = 5
	enough = 25 * time.Millisecond
)

// cwd is AT_FDCWD as a register holds it.
const cwd = ^uintptr(0) - 99

// fastest returns an operation that reports how many nanoseconds a probe took, the fastest of several times. Probes
// make system calls without the Go scheduler, so that the figure holds the kernel's part alone.
func fastest(probe func(Request) error) func(Request) ([]int64, error) {
	return func(r Request) (nanos []int64, err error) {
		begin := time.Now()
		for i := 0; i < tries && (i == 0 || time.Since(begin) < enough); i++ {
			start := time.Now()
			if err := probe(r); err != nil {
				return nil, err
			}
			nanos = append(nanos, time.Since(start).Nanoseconds())
		}
		return []int64{slices.Min(nanos)}, nil
	}
}

func getppid(r Request) error {
	for range r.N {
		unix.RawSyscall(unix.SYS_GETPPID, 0, 0, 0)
	}
	return nil
}

// read takes one byte at a time of a file.
func read(r Request) error {
	fd, err := unix.Open(r.Arg, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: r.Arg, Err: err}
	}
	defer unix.Close(fd)
	var b [1]byte
	for range r.N {
		if n, _, e := unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b)), 1); n != 1 {
			return fmt.Errorf("read of %s: %d bytes, %w", r.Arg, n, e)
		}
	}
	return nil
}

// open opens a file and closes it.
func open(r Request) error {
	name, err := unix.BytePtrFromString(r.Arg)
	if err != nil {
		return err
	}
	return opened(r, func() (uintptr, unix.Errno) {
		fd, _, e := unix.RawSyscall6(unix.SYS_OPENAT, cwd, uintptr(unsafe.Pointer(name)), unix.O_CLOEXEC, 0, 0, 0)
		return fd, e
	})
}

// socket makes a call whose arguments the filter reads.
func socket(r Request) error {
	return opened(r, func() (uintptr, unix.Errno) {
		fd, _, e := unix.RawSyscall(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		return fd, e
	})
}

// opened closes what each call has opened.
func opened(r Request, call func() (uintptr, unix.Errno)) error {
	for range r.N {
		fd, e := call()
		if e == 0 {
			_, _, e = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
		}
		if e != 0 {
			return fmt.Errorf("%s: %w", r.Op, e)
		}
	}
	return nil
}

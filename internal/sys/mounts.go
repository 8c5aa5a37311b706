package sys

import (
	"os"

	"golang.org/x/sys/unix"
)

// Mounts reads the mount table of this process, /proc/self/mountinfo (proc_pid_mountinfo(5)). The kernel holds its lock
// for one read(2), of a page at most: while others mount and unmount in the same namespace, a table of several pages
// can lack a mount that is there all the time. So Mounts reads again until nothing has changed meanwhile, and returns
// EAGAIN if that does not happen. Errors are an *os.PathError.
func Mounts() ([]byte, error) {
	const name = "/proc/self/mountinfo"
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	text, err := settled(func() ([]byte, bool, error) { return readAll(fd) }, func() bool {
		// the kernel reports each change to a descriptor once
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}
		n, err := Retry(func() (int, error) { return unix.Poll(p, 0) })
		return err != nil || n > 0
	})
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: name, Err: err}
	}
	return text, nil
}

// settled reads a table until it was read in one piece, has not changed while it was read, or reads the same twice.
func settled(read func() (text []byte, once bool, err error), changed func() bool) ([]byte, error) {
	last := ""
	for range 100 {
		text, once, err := read()
		if err != nil || once || !changed() || string(text) == last {
			return text, err
		}
		last = string(text)
	}
	return nil, unix.EAGAIN
}

package run

import (
	"errors"
	"io"
	"os"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// wanted is a reader of one of the caller's files that reads only while the payload can receive the data. The remaining
// data is left for the next reader, and no thread keeps waiting for a socket after the end of the jail.
type wanted struct {
	from *os.File
	// ends are the keeper's end of the payload's stdin, and the jail's pidfd. They are duplicates, because os.File.Close
	// waits for each use of a descriptor to end, and another jail may hold the far end of the pipe.
	ends [2]int
	err  error
}

// newWanted takes ownership of from. close closes it.
func newWanted(from, in, pidfd *os.File) *wanted {
	w := &wanted{from: from, ends: [2]int{-1, -1}}
	for i, f := range []*os.File{in, pidfd} {
		w.err = errors.Join(w.err, sys.Control(f, func(fd int) (err error) {
			w.ends[i], err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
			return err
		}))
	}
	return w
}

func (w *wanted) close() {
	w.from.Close()
	for _, fd := range w.ends {
		unix.Close(fd)
	}
}

// Read waits for data (poll(2)). It returns io.EOF if the jail has ended or no process holds the far end of the pipe.
func (w *wanted) Read(b []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	p := [3]unix.PollFd{{Events: unix.POLLIN}, {Fd: int32(w.ends[0])}, {Fd: int32(w.ends[1]), Events: unix.POLLIN}}
	err = sys.Control(w.from, func(fd int) error {
		p[0].Fd = int32(fd)
		_, err := sys.Retry(func() (int, error) { return unix.Poll(p[:], -1) })
		return err
	})
	switch {
	case err != nil:
		return 0, err
	case p[1].Revents != 0 || p[2].Revents != 0:
		return 0, io.EOF
	}
	return w.from.Read(b)
}

package launcher

import (
	"os"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// File is a program in its binary form, in a memory file (memfd_create(2)), which can be performed any number of times.
type File struct {
	fd   int
	req  program.Request
	blob []byte
}

// NewFile encodes a program.
func NewFile(p *program.Program, req program.Request) (*File, error) {
	blob, err := p.Encode(req)
	if err != nil {
		return nil, err
	}
	fd, err := memfd(blob)
	return &File{fd: fd, req: req, blob: blob}, err
}

// Close frees the memory.
func (f *File) Close() error { return unix.Close(f.fd) }

// SendRest sends the suffix of its program to a process that waits at program.Park. sock is the other end of its report
// socket.
func SendRest(sock int, rest *program.Program, fds ...int) error {
	f, err := NewFile(rest, program.Request{})
	if err != nil {
		return err
	}
	defer f.Close()
	return f.send(sock, fds)
}

// send passes a program and its descriptors: unix(7) SCM_RIGHTS. It does not block: the socket takes a whole message,
// and a second one is sent only after the first has been read.
func (f *File) send(sock int, fds []int) error {
	all := append(make([]int, 0, 8), f.fd)
	return unix.Sendmsg(sock, []byte{0}, unix.UnixRights(append(all, fds...)...), nil, unix.MSG_NOSIGNAL)
}

// memfd returns a memory file with a program: memfd_create(2), Linux 3.17.
func memfd(blob []byte) (int, error) {
	fd, err := unix.MemfdCreate("brig", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	for len(blob) > 0 {
		n, err := unix.Write(fd, blob)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			unix.Close(fd)
			return -1, os.NewSyscallError("write of the program", err)
		}
		blob = blob[n:]
	}
	return fd, nil
}

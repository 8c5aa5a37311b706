package launcher

/*
#include "launcher.h"
*/
import "C"

import (
	"os"

	"brig/internal/program"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// File is an encoded program in a memory file (memfd_create(2)). It can be performed any number of times.
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

// SendSuffix sends the suffix of a program to the process that waits for it at program.Park. sock is the keeper's end
// of the process's report socket.
func SendSuffix(sock int, rest *program.Program, fds ...int) error {
	f, err := NewFile(rest, program.Request{})
	if err != nil {
		return err
	}
	defer f.Close()
	return f.send(sock, 0, fds)
}

// SendProgram sends a program to the init of a box: program.Serve. The first of fds is the socket for its reports. A
// short program is a part of the message, so that neither side makes a file of it.
func SendProgram(sock int, p *program.Program, fds ...int) error {
	blob, err := p.Encode(program.Request{})
	if err != nil {
		return err
	}
	if len(blob) <= C.MOST_SENT {
		_, err = unix.SendmsgBuffers(sock, [][]byte{{C.TELL_PROGRAM}, blob}, unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
		return err
	}
	fd, err := memfd(blob)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return (&File{fd: fd}).send(sock, C.TELL_PROGRAM, fds)
}

// send sends a program and its descriptors: unix(7) SCM_RIGHTS. It does not block: the socket buffers one message, and
// the next one is sent only after the first has been received. Those to a box may meet a full buffer: EAGAIN.
func (f *File) send(sock int, what byte, fds []int) error {
	all := append(make([]int, 0, 8), f.fd)
	return unix.Sendmsg(sock, []byte{what}, unix.UnixRights(append(all, fds...)...), nil, unix.MSG_NOSIGNAL)
}

// memfd returns a memory file that contains an encoded program: memfd_create(2), Linux 3.17.
func memfd(blob []byte) (int, error) {
	fd, err := unix.MemfdCreate("brig", unix.MFD_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	for len(blob) > 0 {
		n, err := sys.Write(fd, blob)
		if err != nil {
			unix.Close(fd)
			return -1, os.NewSyscallError("write of the program", err)
		}
		blob = blob[n:]
	}
	return fd, nil
}

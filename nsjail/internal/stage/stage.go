// Package stage starts and speaks to the stage, the small C process that performs programs (stage.c).
package stage

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror
#include "stage.h"
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"

	"brig/internal/program"

	"golang.org/x/sys/unix"
)

// The slots that every program finds filled, and the first that a caller may use.
const (
	SlotProgram = program.Slot(0)
	SlotReport  = program.Slot(1)
	SlotUser    = program.Slot(2)
)

// MaxFDs is how many descriptors a request can carry beside the program and the report socket (unix(7) SCM_MAX_FD).
const MaxFDs = C.MAX_FDS - 2

// Stage is a connection to a stage process. Its methods may be called from several goroutines.
type Stage struct {
	mu    sync.Mutex
	sock  int
	Early bool // forked by the constructor: the parent thread lives as long as the process
	proc  *os.Process
}

// OpError is a failure of the operation with index Op, or of the request itself (Op < 0).
type OpError struct {
	Op    int
	Errno syscall.Errno
}

func (e *OpError) Error() string { return fmt.Sprintf("operation %d: %v", e.Op, e.Errno) }

// TakeEarly gives the stage that the constructor has forked, once.
func TakeEarly() *Stage {
	fd := int(C.brig_early_socket())
	if fd < 0 || fcntlClosed(fd) {
		return nil
	}
	return &Stage{sock: fd, Early: true}
}

func fcntlClosed(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err != nil
}

// Start executes this binary again as a stage, with an empty environment and nothing open but its socket.
func Start() (*Stage, error) {
	sv, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(sv[1])
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		unix.Close(sv[0])
		return nil, err
	}
	defer null.Close()
	n := null.Fd()
	// A Setsid keeps the terminal's signals away: they are the keeper's to forward.
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"brig-stage"}, &syscall.ProcAttr{
		Env: []string{}, Files: []uintptr{n, n, n, uintptr(sv[1])}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		unix.Close(sv[0])
		return nil, os.NewSyscallError("fork and exec of /proc/self/exe", err)
	}
	proc, err := os.FindProcess(pid)
	if err != nil {
		unix.Close(sv[0])
		return nil, err
	}
	return &Stage{sock: sv[0], proc: proc}, nil
}

// Close ends the stage, which kills the wards it still has.
func (s *Stage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sock < 0 {
		return nil
	}
	err := unix.Close(s.sock)
	s.sock = -1
	if s.proc != nil {
		if _, werr := s.proc.Wait(); err == nil {
			err = werr
		}
	}
	return err
}

// Do has the stage perform a program; fds fill the slots from SlotReport on. It gives the pid of the spawned process,
// a child of the caller, or 0 for a program that the stage ran in itself.
func (s *Stage) Do(blob []byte, fds ...int) (int, error) {
	mem, err := memfd(blob)
	if err != nil {
		return 0, err
	}
	defer unix.Close(mem)
	oob := unix.UnixRights(append([]int{mem}, fds...)...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sock < 0 {
		return 0, os.ErrClosed
	}
	if err := unix.Sendmsg(s.sock, []byte{0}, oob, nil, unix.MSG_NOSIGNAL); err != nil {
		return 0, os.NewSyscallError("sendmsg to the stage", err)
	}
	var rep [C.sizeof_struct_reply]byte
	n, err := read(s.sock, rep[:])
	if err != nil || n != len(rep) {
		return 0, fmt.Errorf("the stage died (read %d bytes: %v)", n, err)
	}
	ne := binary.NativeEndian
	if errno := ne.Uint32(rep[8:]); errno != 0 {
		return 0, &OpError{int(int32(ne.Uint32(rep[4:]))), syscall.Errno(errno)}
	}
	runtime.KeepAlive(fds)
	return int(int32(ne.Uint32(rep[0:]))), nil
}

// memfd holds a program: memfd_create(2), Linux 3.17.
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

func read(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		if err != unix.EINTR {
			return n, err
		}
	}
}

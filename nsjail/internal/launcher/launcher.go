// Package launcher starts and speaks to the launcher, the small C process that performs programs (interpret.c, spawn.c).
package launcher

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror
#include "launcher.h"
*/
import "C"

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
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

// HomeFD is where a prepared launcher keeps its own network namespace open, and so can leave a jail's.
const HomeFD = C.FD_HOME

// MaxFDs is how many descriptors a request can carry beside the program and the report socket (unix(7) SCM_MAX_FD).
const MaxFDs = C.MAX_FDS - 2

// Launcher is a connection to a launcher process. Its methods may be called from several goroutines.
type Launcher struct {
	mu    sync.Mutex
	sock  int
	Early bool // forked by the constructor: the parent thread lives as long as the process
	pid   int
	hello bool
	uid   int
	net   bool

	ahead     int // the default jail's first process that a launcher forked early has made ahead of its program; 0 for none
	aheadSock int // where that process waits for it
	begun     bool
	unused    int // such a process that has turned out to be of no use, to be collected
}

// OpError is a failure of the operation with index Op, or of the request itself (Op < 0).
type OpError struct {
	Op    int
	Errno syscall.Errno
}

// Error names the operation and the errno.
func (e *OpError) Error() string { return fmt.Sprintf("operation %d: %v", e.Op, e.Errno) }

// TakeEarly gives the launcher that the constructor has forked, once.
func TakeEarly() *Launcher {
	e := &C.brig_early
	if e.launcher < 0 || fcntlClosed(int(e.launcher)) {
		return nil
	}
	return &Launcher{sock: int(e.launcher), aheadSock: int(e.ahead), pid: int(e.pid), Early: true}
}

// CatchSignals replaces the process's handlers of what a keeper of one jail passes on, and gives the read end of a
// pipe with a byte for each signal, or -1.
func CatchSignals() int { return int(C.brig_catch_signals()) }

func fcntlClosed(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err != nil
}

// Start executes this binary again as a launcher, with an empty environment and nothing open but its socket.
func Start() (*Launcher, error) {
	restore.Do(restoreAffinity)
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
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"brig-launcher"}, &syscall.ProcAttr{
		Env: []string{}, Files: []uintptr{n, n, n, uintptr(sv[1])}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		unix.Close(sv[0])
		return nil, os.NewSyscallError("fork and exec of /proc/self/exe", err)
	}
	return &Launcher{sock: sv[0], pid: pid}, nil
}

// Retire lets the launcher go: it makes no further process, kills the wards it still has, and ends. Close collects it.
func (s *Launcher) Retire() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sock < 0 {
		return nil
	}
	restore.Do(restoreAffinity)
	var err error
	if s.Early { // else nothing has been made ahead
		err = s.greet()
	}
	if s.ahead > 0 { // it ends with its socket
		err = errors.Join(err, unix.Close(s.aheadSock))
	}
	err = errors.Join(err, unix.Close(s.sock))
	s.sock = -1
	return err
}

// Close ends the launcher and collects it.
func (s *Launcher) Close() error {
	err := s.Retire()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pid := range []*int{&s.ahead, &s.unused, &s.pid} {
		for *pid > 0 {
			if _, werr := unix.Wait4(*pid, nil, unix.WALL, nil); werr != unix.EINTR {
				*pid = 0
			}
		}
	}
	return err
}

// Do has the launcher perform a program; fds fill the slots from SlotReport on. It gives the pid of the spawned
// process, a child of the caller, or 0 for a program that the launcher ran in itself.
func (s *Launcher) Do(p *program.Program, req program.Request, fds ...int) (int, error) {
	f, err := NewFile(p, req)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return s.DoFile(f, nil, fds...)
}

// DoFile is Do for a program that is encoded already. meanwhile, if not nil, runs while the launcher works.
func (s *Launcher) DoFile(f *File, meanwhile func(), fds ...int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sock < 0 {
		return 0, os.ErrClosed
	}
	if err := s.greet(); err != nil {
		return 0, err
	}
	ahead, err := s.takesAhead(f)
	if err != nil {
		return 0, err
	}
	sock := s.sock
	if ahead {
		sock = s.aheadSock
	}
	if err := f.send(sock, fds); err != nil {
		return 0, os.NewSyscallError("sendmsg to the launcher", err)
	}
	restore.Do(restoreAffinity)
	if ahead { // its report is the answer
		pid := s.ahead
		s.ahead = 0
		return pid, unix.Close(sock)
	}
	if meanwhile != nil {
		meanwhile()
	}
	rep, err := s.reply()
	if err != nil {
		return 0, err
	}
	if rep.err != 0 {
		return 0, &OpError{rep.op, rep.err}
	}
	return rep.pid, nil
}

// Payload ids: the first of the range that root's payloads run as, and how many there are.
const (
	PayloadIDs     = C.PAYLOAD_IDS
	PayloadIDCount = C.PAYLOAD_ID_COUNT
)

// Pid is the launcher's process.
func (s *Launcher) Pid() int { return s.pid }

// UID is the user that the launcher is.
func (s *Launcher) UID() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.greet()
	return s.uid, err
}

// OwnNet says that the launcher stands in a network namespace that was made for its jail, with lo up.
func (s *Launcher) OwnNet() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Early || s.aheadSock != C.NOTHING_AHEAD {
		return false, nil
	}
	err := s.greet()
	return s.net, err
}

// greet reads the launcher's first message.
func (s *Launcher) greet() error {
	if s.hello {
		return nil
	}
	rep, err := s.reply()
	if err == nil {
		s.hello, s.uid, s.ahead, s.net, s.begun = true, rep.uid, rep.pid, rep.op > 0, rep.err > 0
	}
	return err
}

type reply struct {
	pid, op, uid int
	err          syscall.Errno
}

func (s *Launcher) reply() (r reply, err error) {
	var b [C.sizeof_struct_reply]byte
	n, err := read(s.sock, b[:])
	if err != nil || n != len(b) {
		return r, fmt.Errorf("the launcher died (read %d bytes: %v)", n, err)
	}
	ne := binary.NativeEndian
	i32 := func(o int) int { return int(int32(ne.Uint32(b[o:]))) }
	return reply{i32(0), i32(4), int(ne.Uint32(b[12:])), syscall.Errno(ne.Uint32(b[8:]))}, nil
}

func read(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		if err != unix.EINTR {
			return n, err
		}
	}
}

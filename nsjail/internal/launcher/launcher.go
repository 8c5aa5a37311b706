// Package launcher starts the launcher and communicates with it. The launcher is the small C process that performs
// programs (interpret.c, spawn.c).
package launcher

/*
#cgo CFLAGS: -O2 -std=gnu11 -Wall -Wextra -Werror
#include "launcher.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"brig/internal/program"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// The slots that are filled in every program, and the first one for the caller's descriptors.
const (
	SlotProgram = program.Slot(0)
	SlotReport  = program.Slot(1)
	SlotUser    = program.Slot(2)
)

// HomeFD is the descriptor of a launcher's own network namespace, if it has a prepared root. The launcher returns to it
// after each clone3(2) in a jail's network namespace.
const HomeFD = C.FD_HOME

// MaxFDs is the number of descriptors in a request beside the program and the report socket (unix(7) SCM_MAX_FD).
const MaxFDs = C.MAX_FDS - 2

// Launcher is a connection to a launcher process. Its methods may be called from several goroutines.
type Launcher struct {
	mu     sync.Mutex
	sock   *os.File // nil after Retire
	Forked bool     // forked by the constructor: its parent is the main thread, which exists as long as the process
	Parent bool     // it is the parent of this process, and that of its jails
	pid    int
	hello  bool
	uid    int

	ahead     int // the first process that an early launcher created before it had a program; 0 for none
	aheadSock int // the socket at which that process waits for its program
	begun     int // so many operations of Ahead that process performs, at most
	unused    int // such a process that did not fit the program and has to be reaped
}

// OpError is a failure of the operation with index Op, or of the request itself if Op < 0.
type OpError struct {
	Op    int
	Errno syscall.Errno
}

// Error returns a message with the operation's index and the errno.
func (e *OpError) Error() string { return fmt.Sprintf("operation %d: %v", e.Op, e.Errno) }

// Forked returns the launcher that the constructor forked, or nil if there is none or it has been taken.
func Forked() *Launcher {
	e := &C.brig_early
	if e.launcher < 0 {
		return nil
	}
	sock := os.NewFile(uintptr(e.launcher), "launcher")
	e.launcher = -1
	return &Launcher{sock: sock, aheadSock: int(e.ahead), pid: int(e.pid), Forked: true,
		Parent: e.id == C.WANTS_PARENT}
}

// CatchSignals replaces the process's handlers of the signals that the keeper of one jail forwards. It returns the read
// end of a pipe that carries one byte for each signal, or -1.
func CatchSignals() int { return int(C.brig_catch_signals()) }

// Start executes this binary again as a launcher, with an empty environment and no descriptor but its socket.
func Start() (*Launcher, error) {
	restore.Do(restoreAffinity)
	sock, theirs, err := ReportSocket()
	if err != nil {
		return nil, err
	}
	defer unix.Close(theirs)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(err, sock.Close())
	}
	defer null.Close()
	n := null.Fd()
	// with setsid(2) the launcher gets no signals from the terminal; the keeper forwards them
	pid, err := syscall.ForkExec("/proc/self/exe", []string{"brig-launcher"}, &syscall.ProcAttr{
		Env: []string{}, Files: []uintptr{n, n, n, uintptr(theirs)}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("fork and exec of /proc/self/exe", err), sock.Close())
	}
	return &Launcher{sock: sock, pid: pid}, nil
}

// Retire ends the launcher, which first kills the remaining jails without init. Close reaps it.
func (s *Launcher) Retire() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sock == nil {
		return nil
	}
	restore.Do(restoreAffinity)
	var err error
	if s.Forked { // otherwise no process was created ahead
		err = s.greet()
	}
	if s.ahead > 0 { // the process ends when its socket closes
		err = errors.Join(err, unix.Close(s.aheadSock))
	}
	err = errors.Join(err, s.sock.Close())
	s.sock = nil
	return err
}

// Close ends and reaps the launcher.
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

// Do makes the launcher perform a program; fds fill the slots from SlotReport on. Do returns the pid of the spawned
// process, a child of the caller, or 0 if the launcher ran the program in itself.
func (s *Launcher) Do(p *program.Program, req program.Request, fds ...int) (int, error) {
	f, err := NewFile(p, req)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return s.DoFile(f, nil, fds...)
}

// DoFile is like Do, for an encoded program. meanwhile, if not nil, runs while the launcher works.
func (s *Launcher) DoFile(f *File, meanwhile func(), fds ...int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sock == nil {
		return 0, os.ErrClosed
	}
	if err := s.greet(); err != nil {
		return 0, err
	}
	ahead, err := s.takesAhead(f)
	if err != nil {
		return 0, err
	}
	if ahead {
		err = f.send(s.aheadSock, 0, fds)
	} else {
		err = sys.Control(s.sock, func(fd int) error { return f.send(fd, 0, fds) })
	}
	if err != nil {
		return 0, os.NewSyscallError("sendmsg to the launcher", err)
	}
	restore.Do(restoreAffinity)
	if ahead { // the report of the process is the answer
		pid := s.ahead
		s.ahead = 0
		return pid, unix.Close(s.aheadSock)
	}
	if meanwhile != nil {
		meanwhile()
	}
	rep, err := s.reply()
	if err != nil {
		return 0, err
	}
	if rep.err != 0 {
		return 0, &OpError{int(rep.op), syscall.Errno(rep.err)}
	}
	return int(rep.pid), nil
}

// Leave hands a running jail to a launcher that is this process's parent, which then ends as the payload does. report
// is the jail's report socket, which must block.
func (s *Launcher) Leave(report int) error {
	f, err := NewFile(program.New(2), program.Request{Kind: program.Leave, Cgroup: -1})
	if err != nil {
		return err
	}
	defer f.Close()
	return sys.Control(s.sock, func(fd int) error { return f.send(fd, 0, []int{report}) })
}

// The range of host ids for the payloads of root: the first id and the number of ids.
const (
	PayloadIDs     = C.PAYLOAD_IDS
	PayloadIDCount = C.PAYLOAD_ID_COUNT
)

// PayloadID returns the host id of root's payloads: what SetPayloadID has set, or one that no other live keeper has,
// since it follows from this process's pid.
func PayloadID() int {
	if id := int(C.brig_early.id); id > C.WANTS_PARENT {
		return id
	}
	return PayloadIDs + os.Getpid()%PayloadIDCount
}

// SetPayloadID sets the host id of root's payloads. It ends a launcher that the constructor has forked with another
// one.
func SetPayloadID(id int) error {
	if id < PayloadIDs+PayloadIDCount || id >= math.MaxUint32 { // the last is no id: setresuid(2)
		return fmt.Errorf("payload id %d is not from %d to %d", id, PayloadIDs+PayloadIDCount, math.MaxUint32-1)
	}
	if PayloadID() == id {
		return nil
	}
	C.brig_early.id = C.uint32_t(id)
	if l := Forked(); l != nil {
		return l.Close()
	}
	return nil
}

// Pid returns the pid of the launcher.
func (s *Launcher) Pid() int { return s.pid }

// UID returns the host uid of the launcher.
func (s *Launcher) UID() (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.greet()
	return s.uid, err
}

// greet receives the launcher's first message, once.
func (s *Launcher) greet() error {
	if s.hello {
		return nil
	}
	rep, err := s.reply()
	if err == nil {
		s.hello, s.uid, s.ahead, s.begun = true, int(rep.uid), int(rep.pid), int(rep.err)
	}
	return err
}

// reply waits in the runtime's poller: a thread that waited in read(2) would keep a processor of Go's from the other
// runs. The socket of a forked launcher blocks.
func (s *Launcher) reply() (r C.struct_reply, err error) {
	n := 0
	err = sys.Await(s.sock, func(fd int) (err error) {
		n, err = unix.Read(fd, (*[C.sizeof_struct_reply]byte)(unsafe.Pointer(&r))[:])
		return err
	})
	if err == nil && n != C.sizeof_struct_reply {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return r, fmt.Errorf("the launcher died: %w; look for an out-of-memory kill in the kernel log", err)
	}
	return r, nil
}

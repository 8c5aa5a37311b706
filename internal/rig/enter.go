package rig

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const insideVar = "BRIG_RIG" // set in the process that lives in H

// Caller is the user of the test in H. Root is always root.
type Caller int

const (
	Self    Caller = iota // the same uid as outside; of an ordinary user only the rig's process has capabilities
	AsRoot0               // an ordinary user is uid 0 of a user namespace, with every capability there
)

// T is a test, which need not be one of package testing: brigd verify performs the attacks, too.
type T interface {
	Helper()
	Name() string
	Skip(args ...any)
	Skipf(format string, args ...any)
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

// Inside reports whether this process is in H.
func Inside() bool { return os.Getenv(insideVar) != "" }

// Enter returns true in H. Outside it runs the calling test again in H, takes over its result and returns false.
func Enter(t T, who Caller) bool {
	t.Helper()
	if Inside() {
		return true
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("no ip(8) to make network namespaces with: install iproute2")
	}
	before, err := TakeSnapshot(false)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := Command(who, exe, arguments(t.Name())...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	runtime.LockOSThread() // Pdeathsig is sent when the forking thread ends
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Skipf("this machine makes no network namespace for uid %d: %v", os.Getuid(), err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("in the rig: %v", err)
	}
	after, err := TakeSnapshot(false)
	if err != nil {
		t.Fatal(err)
	}
	if diff := before.Diff(after); diff != "" {
		t.Errorf("the real host's network has changed:\n%s", diff)
	}
	return false
}

// arguments returns those of this process, with -test.run for the one test.
func arguments(test string) (list []string) {
	var elements []string
	for _, e := range strings.Split(test, "/") {
		elements = append(elements, "^"+e+"$")
	}
	for _, a := range os.Args[1:] {
		if pattern, ok := strings.CutPrefix(a, "-test.run="); ok {
			// with alternatives, the elements below may belong to another test
			if below := strings.Split(pattern, "/"); len(below) > len(elements) && !strings.Contains(below[0], "|") &&
				!strings.Contains(pattern, "|Test") {
				elements = append(elements, below[len(elements):]...)
			}
			continue
		}
		if !strings.HasPrefix(a, "-test.testlogfile=") && !strings.HasPrefix(a, "-test.coverprofile=") {
			list = append(list, a)
		}
	}
	return append(list, "-test.run="+strings.Join(elements, "/"))
}

// Command returns a command that runs in H. Its caller keeps its thread until the command has ended, and thereby the
// command alive.
func Command(who Caller, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), insideVar+"=1", "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	cmd.SysProcAttr = attributes(who)
	return cmd
}

// attributes makes the namespaces. All but root need a user namespace, which owns the others.
func attributes(who Caller) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET, Pdeathsig: unix.SIGKILL}
	if os.Geteuid() == 0 {
		return a
	}
	uid, gid := os.Getuid(), os.Getgid()
	a.Cloneflags |= unix.CLONE_NEWUSER
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	if who == AsRoot0 {
		a.UidMappings[0].ContainerID, a.GidMappings[0].ContainerID = 0, 0
	} else { // execve(2) takes every other capability from a uid that is not 0
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE}
	}
	return a
}

// Start starts a command in H without the capabilities that only the rig needs.
func Start(cmd *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and its capabilities with it
		done <- start(cmd)
	}()
	return <-done
}

func start(cmd *exec.Cmd) error {
	if os.Geteuid() != 0 {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		if err := unix.Capget(&header, &data[0]); err != nil {
			return fmt.Errorf("capget: %w", err)
		}
		for i := range data {
			data[i].Inheritable = 0 // this empties the ambient set too: capabilities(7)
		}
		if err := unix.Capset(&header, &data[0]); err != nil {
			return fmt.Errorf("capset: %w", err)
		}
	}
	return cmd.Start()
}

// Space is a network namespace and a thread in it. A socket keeps the namespace in which it was made, so that any
// goroutine may serve it.
type Space struct {
	path string // of the namespace, for ip(8)
	jobs chan func()
}

func newSpace() (*Space, error) {
	s := &Space{jobs: make(chan func())}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // for its whole life
		err := unix.Unshare(unix.CLONE_NEWNET)
		s.path = fmt.Sprintf("/proc/%d/task/%d/ns/net", unix.Getpid(), unix.Gettid())
		if made <- err; err != nil {
			return
		}
		for job := range s.jobs {
			job()
		}
	}()
	if err := <-made; err != nil {
		return nil, fmt.Errorf("unshare(CLONE_NEWNET): %w", err)
	}
	return s, nil
}

// do runs f on the thread: sockets that it opens and processes that it starts are in the namespace.
func (s *Space) do(f func() error) error {
	done := make(chan error)
	s.jobs <- func() { done <- f() }
	return <-done
}

package rig

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

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

// Do runs f on the thread: sockets that it opens and processes that it starts are in the namespace.
func (s *Space) Do(f func() error) error {
	done := make(chan error)
	s.jobs <- func() { done <- f() }
	return <-done
}

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel does not bound groups inside groups. These bounds limit the time of a removal.
const (
	maxInner = 1000
	maxDepth = 32
)

// errTooMany is the error if there are more inner groups than maxInner and maxDepth allow.
var errTooMany = errors.New("there are more than 1000 groups inside it, or more than 32 one in the other")

// eachInner opens the groups inside a group one after the other, until the first error or a bound.
func eachInner(dir int, left *int, depth int, visit func(fd int, name string) error) error {
	names, err := inner(dir)
	if err != nil {
		return err
	}
	if len(names) > 0 && depth == 0 {
		return errTooMany
	}
	for _, name := range names {
		if *left--; *left < 0 {
			return errTooMany
		}
		fd, err := unix.Openat(dir, name, openDir, 0)
		if err == unix.ENOENT {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s inside it: %w", quote(name), err)
		}
		err = visit(fd, name)
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// inner returns the names of the groups inside a group.
func inner(dir int) (names []string, err error) {
	fd, err := unix.Openat(dir, ".", openDir, 0) // a description of its own, for readdir's position
	if err == unix.ENOENT {
		return nil, nil // removed meanwhile
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "group")
	defer f.Close()
	list, err := f.ReadDir(-1)
	for _, e := range list {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, bare(err)
}

// awaitChange waits until a control file has changed (poll(2), POLLPRI) or the time has passed. Version 1 does not
// report changes.
func (d *directory) awaitChange(name string, most time.Duration) {
	fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		time.Sleep(most)
		return
	}
	defer unix.Close(fd)
	if _, err := readAll(fd); err != nil { // changes count from the last read
		time.Sleep(most)
		return
	}
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}
	_, _ = unix.Poll(p, int(most.Milliseconds())) // the caller looks again in any case
}

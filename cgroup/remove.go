package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// removeWait bounds the wait for processes that are about to end.
const removeWait = 2 * time.Second

// Remove removes the group and the groups inside it. All its processes must have ended or be about to end. The group's
// descriptors are closed even on error.
func (g *Group) Remove() error { return g.end(false) }

// End is like Remove, but kills the processes that are left in the group.
func (g *Group) End() error { return g.end(true) }

func (g *Group) end(kill bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	end := time.Now().Add(removeWait)
	for _, d := range slices.Backward(g.dirs) {
		if d.fd >= 0 {
			err := d.rmdir()
			if err == unix.EBUSY && kill {
				kill, errs = false, append(errs, g.kill())
			}
			if err == unix.EBUSY {
				err = d.remove(end)
			}
			if err != nil {
				err = fmt.Errorf("rmdir %s: %w; remove it with brig gc", quote(d.path()), err)
			}
			errs = append(errs, err, unix.Close(d.fd))
		}
		if d.base >= 0 {
			errs = append(errs, unix.Close(d.base))
		}
		d.fd, d.base = -1, -1
	}
	return errors.Join(errs...)
}

// rmdir removes the directory, if nothing is in it: rmdir(2).
func (d *directory) rmdir() error {
	if err := unix.Unlinkat(d.base, d.name, unix.AT_REMOVEDIR); err != unix.ENOENT {
		return err
	}
	return nil
}

// remove waits until the last process has left the group, and removes its directory. At the time end it returns an
// error instead.
func (d *directory) remove(end time.Time) error {
	pause := time.Millisecond
	for {
		err := d.rmdir()
		if err == nil {
			return nil
		}
		if err != unix.EBUSY || time.Now().After(end) {
			return err
		}
		left := maxInner
		if inner := removeInner(d.fd, &left, maxDepth); inner != nil {
			return inner
		}
		d.awaitChange("cgroup.events", pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// The kernel does not bound groups inside groups. These bounds limit the time of a removal.
const (
	maxInner = 1000
	maxDepth = 32
)

// errTooMany is the error if there are more inner groups than maxInner and maxDepth allow.
var errTooMany = errors.New("there are more than 1000 groups inside it, or more than 32 one in the other")

// removeInner removes the groups inside a group, deepest first. It uses descriptors, since names may change meanwhile.
// A group with processes remains, and the caller tries again.
func removeInner(dir int, left *int, depth int) error {
	return eachInner(dir, left, depth, func(fd int, name string) error {
		if err := removeInner(fd, left, depth-1); err != nil {
			return err
		}
		if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil && err != unix.ENOENT && err != unix.EBUSY {
			return fmt.Errorf("%s inside it: %w", quote(name), err)
		}
		return nil
	})
}

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

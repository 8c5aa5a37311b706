package cgroup

import (
	"errors"
	"fmt"
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

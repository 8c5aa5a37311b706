package cgroup

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func (g *Group) kill() error {
	for _, d := range g.dirs {
		if d.fd >= 0 && d.Version == 2 && d.put("cgroup.kill", "1") == nil {
			return nil
		}
	}
	var errs []error
	freeze := g.freeze(true)
	for _, d := range g.dirs {
		if d.fd >= 0 {
			errs = append(errs, d.killTree())
		}
	}
	// A frozen process of version 1 dies when it is thawed. Where freezing took too long, it may still be under way.
	if !errors.Is(freeze, errNoFreezer) && !removed(freeze) {
		errs = append(errs, g.freeze(false))
	}
	return errors.Join(errs...)
}

// kill ends all processes of a directory and of the groups inside it.
func (d *directory) kill() error {
	if d.put("cgroup.kill", "1") == nil {
		return nil
	}
	err := d.killTree()
	// a frozen process of version 1 does not die
	if thaw := d.put("freezer.state", "THAWED"); thaw != nil && !removed(thaw) {
		return errors.Join(err, thaw)
	}
	return err
}

func (d *directory) killTree() error {
	left := maxInner
	return killIn(d.fd, &left, maxDepth)
}

// killIn proceeds from the top down, so that killed processes cannot create further groups below.
func killIn(dir int, left *int, depth int) error {
	if err := killEach(dir); err != nil {
		return err
	}
	return eachInner(dir, left, depth, func(fd int, _ string) error { return killIn(fd, left, depth-1) })
}

// killRounds bounds the race against processes that fork.
const killRounds = 1000

// killEach signals processes until all have been signalled.
func killEach(dir int) error {
	told := map[string]bool{}
	for range killRounds {
		text, err := readAt(dir, "cgroup.procs")
		if removed(err) {
			return nil
		}
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(strings.Fields(text), func(pid string) bool {
			return told[pid] || pid == "0" // 0 is a process outside of this pid namespace
		})
		if len(fresh) == 0 {
			return nil
		}
		const most = 100 // descriptors at a time
		for _, pid := range fresh[:min(most, len(fresh))] {
			told[pid] = true
		}
		if err := killListed(dir, fresh[:min(most, len(fresh))]); err != nil {
			return err
		}
	}
	return errors.New("processes are made faster than they can be killed")
}

// killListed opens the processes (pidfd_open(2)) and signals those that are still in the group. A pid may have been
// reused since it was read.
func killListed(dir int, pids []string) (err error) {
	held := map[string]int{}
	defer func() {
		for _, fd := range held {
			unix.Close(fd)
		}
	}()
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return err
		}
		fd, err := unix.PidfdOpen(n, 0)
		if err == unix.ESRCH {
			continue
		}
		if err != nil {
			return fmt.Errorf("pidfd_open %d: %w", n, err)
		}
		held[pid] = fd
	}
	text, err := readAt(dir, "cgroup.procs")
	if err != nil && !removed(err) {
		return err
	}
	for _, pid := range strings.Fields(text) {
		if fd, ok := held[pid]; ok {
			if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && err != unix.ESRCH {
				return fmt.Errorf("kill %s: %w", pid, err)
			}
		}
	}
	return nil
}

package cgroup

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// enableController enables a controller for the children of a version 2 group. The group itself must have no processes:
// cgroups(7), "no internal processes". If this process is one of them, all move to a leaf; groups without this process
// are not changed. Each controller is written alone, since the file accepts all words or none.
func enableController(base int, word string) error {
	// the root of the tree, which has no such file, may have processes and controllers
	if _, err := readAt(base, "cgroup.type"); err == unix.ENOENT {
		return putAt(base, "cgroup.subtree_control", word)
	} else if err != nil {
		return err
	}
	// Processes may fork while they are moved, and a Sweep may remove the empty leaf. A process that is ending cannot
	// be moved any more, and leaves the group without help.
	const tries, patience = 50, time.Second
	begin := time.Now()
	for i := 0; i < tries || time.Since(begin) < patience; i++ {
		if i >= tries {
			time.Sleep(time.Millisecond)
		}
		pids, err := readAt(base, "cgroup.procs")
		if err != nil {
			return err
		}
		if pids != "" {
			if !inside(base) {
				return fmt.Errorf("%w: it has processes of its own, and brig is not one of them: %s", unix.EBUSY, pidsOf(base))
			}
			if err := moveToLeaf(base, pids); err != nil && !removed(err) {
				return err
			}
			continue
		}
		if err = putAt(base, "cgroup.subtree_control", word); err == unix.EBUSY { // a process has arrived in between
			continue
		}
		if err != nil {
			return err
		}
		// The kernel enables cpu, cpuset and pids in spite of processes. The group is then a threaded root, and groups
		// in it cannot hold a process.
		kind, err := readAt(base, "cgroup.type")
		if err != nil || strings.TrimSpace(kind) == "domain" {
			return err
		}
		if err := putAt(base, "cgroup.subtree_control", "-"+word[1:]); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: it has processes of its own, which come faster than they can be moved: %s",
		unix.EBUSY, pidsOf(base))
}

// inside reports whether this process is in a group or in its leaf.
func inside(base int) bool {
	self := strconv.Itoa(os.Getpid())
	for _, name := range []string{"cgroup.procs", leafName + "/cgroup.procs"} {
		if text, err := readAt(base, name); err == nil && slices.Contains(strings.Fields(text), self) {
			return true
		}
	}
	return false
}

// moveToLeaf moves processes of a group to its leaf.
func moveToLeaf(dir int, pids string) error {
	leaf, err := openLeaf(dir)
	if err != nil {
		return err
	}
	defer unix.Close(leaf)
	procs, err := unix.Openat(leaf, "cgroup.procs", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if removed(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s/cgroup.procs: %w", leafName, err)
	}
	defer unix.Close(procs)
	for _, pid := range strings.Fields(pids) {
		if pid == "0" { // ending, or in another pid namespace: the caller looks again
			continue
		}
		err := writeAll(procs, pid)
		if err == unix.ENODEV { // the leaf was removed while it was empty
			return err
		}
		if err != nil && err != unix.ESRCH { // it has ended
			return fmt.Errorf("moving process %s to %s: %w", pid, leafName, err)
		}
	}
	return nil
}

// openLeaf makes and opens the leaf. It refuses one of another user, who could control the processes in it.
func openLeaf(dir int) (int, error) {
	if err := unix.Mkdirat(dir, leafName, 0o755); err != nil && err != unix.EEXIST {
		return -1, fmt.Errorf("mkdir %s for the group's own processes: %w", leafName, err)
	}
	fd, err := unix.Openat(dir, leafName, openDir, 0)
	if removed(err) {
		return -1, err
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		return -1, fmt.Errorf("%s: %w", leafName, err)
	}
	if st.Uid != 0 && int(st.Uid) != unix.Geteuid() {
		unix.Close(fd)
		return -1, fmt.Errorf("%s belongs to user %d: %w", leafName, st.Uid, unix.EPERM)
	}
	return fd, nil
}

// pidsOf returns the processes of a group, for an error.
func pidsOf(dir int) string {
	text, err := readAt(dir, "cgroup.procs")
	if err != nil {
		return err.Error()
	}
	const most = 10
	pids := strings.Fields(text)
	if slices.Contains(pids, "0") {
		return "one of another pid namespace (0), which cannot be moved from here"
	}
	if len(pids) > most {
		pids = append(pids[:most], "...")
	}
	return strings.Join(pids, " ")
}

// removeLeaf removes an empty leaf.
func removeLeaf(base int) error {
	err := unix.Unlinkat(base, leafName, unix.AT_REMOVEDIR)
	if err == unix.ENOENT || err == unix.EBUSY {
		return nil
	}
	return os.NewSyscallError("rmdir "+leafName, err)
}

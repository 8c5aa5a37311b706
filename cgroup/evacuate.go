package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// enableController gives a version 2 group's children a controller. Each is written alone: the file takes all or
// nothing. EBUSY means that the group has processes of its own; they move to a leaf, and the write is tried again.
func enableController(base, word string) error {
	fd, err := unix.Open(base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const tries = 20 // processes that fork while they are moved
	for range tries {
		if err = putAt(fd, "cgroup.subtree_control", word); err != unix.EBUSY {
			return err
		}
		if err := evacuate(fd); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: processes of %s: %s", err, quote(base), pidsOf(fd))
}

// evacuate moves all processes of a group to its leaf.
func evacuate(dir int) error {
	if err := unix.Mkdirat(dir, Leaf, 0o755); err != nil && err != unix.EEXIST {
		return fmt.Errorf("mkdir %s for the group's own processes: %w", Leaf, err)
	}
	procs, err := unix.Openat(dir, Leaf+"/cgroup.procs", unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s/cgroup.procs: %w", Leaf, err)
	}
	defer unix.Close(procs)
	text, err := (&directory{fd: dir}).read("cgroup.procs")
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(text) {
		if pid == "0" {
			return errors.New("a process of another pid namespace is in it and cannot be moved from here")
		}
		if err := writeAll(procs, pid); err != nil && err != unix.ESRCH { // it has ended
			return fmt.Errorf("moving process %s to %s: %w", pid, Leaf, err)
		}
	}
	return nil
}

// pidsOf names who is in the way.
func pidsOf(dir int) string {
	text, err := (&directory{fd: dir}).read("cgroup.procs")
	if err != nil {
		return err.Error()
	}
	const most = 10
	pids := strings.Fields(text)
	if len(pids) > most {
		pids = append(pids[:most], "...")
	}
	return strings.Join(pids, " ")
}

// removeLeaf takes back an empty leaf: nobody's processes need it any more.
func removeLeaf(base string) error {
	err := unix.Rmdir(path.Join(base, Leaf))
	if err == unix.ENOENT || err == unix.EBUSY {
		return nil
	}
	if err != nil {
		return os.NewSyscallError("rmdir "+Leaf, err)
	}
	return nil
}

package peers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"brig/nsjail"
	"brig/seccomp"

	"golang.org/x/sys/unix"
)

// makers are the tools in the order in which they are shown.
func makers() []func(*Host) *Tool {
	inProcess := "in the caller's process: no program is started for a jail but the payload"
	return []func(*Host) *Tool{
		bare,
		cold,
		library("brig Runner", []string{inProcess}, nsjail.RunnerOptions{}, 0),
		library("brig Runner, pool", []string{inProcess, "network namespaces are made ahead, and jails of a kind that has started before, each for one use"}, nsjail.RunnerOptions{Pool: ahead}, 0),
		library("brig Runner, pool with reuse", []string{inProcess, "as with the pool; the network namespace of a jail that has not used it serves another one"},
			nsjail.RunnerOptions{Pool: ahead, Reuse: true}, 0),
		library("brig Runner, prestarted", []string{inProcess, "whole jails are made ahead, each for one use"}, nsjail.RunnerOptions{}, ahead),
		bubblewrap(true),
		bubblewrap(false),
		googleNsjail,
		firejail,
		systemdRun,
		crun,
		runc,
		runsc,
		podman,
		dockerTool,
	}
}

// All looks for every tool. Those with Info.Absent cannot be prepared. The caller closes the others.
func All(h *Host) []*Tool {
	h.tree = look()
	for _, dir := range []string{"/run/runc", "/run/crun"} { // podman's runtime takes no other
		if !isDir(dir) {
			h.strays = append(h.strays, dir)
		}
	}
	var tools []*Tool
	for _, make := range makers() {
		tools = append(tools, make(h))
	}
	return tools
}

// rootfs is the directory that tools without a root of their own get as theirs, made at the first call.
func (h *Host) rootfs() (string, error) {
	h.once.Do(func() {
		h.root = filepath.Join(h.Dir, "rootfs")
		h.err = h.tree.write(h.root)
	})
	return h.root, h.err
}

// filter is a file with brig's default filter as compiled BPF.
func (h *Host) filter() (string, error) {
	name := filepath.Join(h.Dir, "filter.bpf")
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	bpf, ok := seccomp.DefaultBPF()
	if !ok {
		table, err := seccomp.DefaultTable()
		if err == nil {
			bpf, err = table.Compile()
		}
		if err != nil {
			return "", err
		}
	}
	return name, os.WriteFile(name, bpf, 0o644)
}

// Close ends what the tools keep running.
func Close(tools []*Tool) error {
	var errs []error
	for _, t := range tools {
		if err := t.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", t.Info.Name, err))
		}
	}
	return errors.Join(errs...)
}

// Remove takes back the directory, the mounts below it and the control group. Mounts come first, and a directory with one is
// left alone: what is mounted there is the host's own.
func (h *Host) Remove() error {
	if err := errors.Join(settle(h.Dir), unmount(h.Dir)); err != nil {
		return err
	}
	errs := []error{removeGroups(groupRoot, h.name()), os.RemoveAll(h.Dir)}
	for _, dir := range h.strays {
		if err := unix.Rmdir(dir); err != nil && err != unix.ENOENT && err != unix.ENOTEMPTY && err != unix.EACCES && err != unix.EPERM { // somebody else's by now
			errs = append(errs, &os.PathError{Op: "rmdir", Path: dir, Err: err})
		}
	}
	return errors.Join(errs...)
}

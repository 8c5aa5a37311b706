package nsjail

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"brig/internal/program"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/internal/spec"

	"golang.org/x/sys/unix"
)

// pass makes the mounts that are passed with the prefix or the suffix of a program.
func (r *Runner) pass(p *plan.Plan, j *jail, h *passedFDs, prefix bool) (err error) {
	for _, m := range p.Passed {
		if m.InPrefix != prefix && p.Prefix != nil {
			continue
		}
		var fd int
		switch src := p.Host.Sources[m.Key]; {
		case src.Volume != "":
			fd, err = r.volumes.mount(src, m.Attr)
		case !p.Host.Drop:
			fd, err = r.helper.Mount(m.Key, src, m.Attr)
		default:
			fd, err = r.clone(p, j, &m)
		}
		if err != nil {
			return err
		}
		h.put(m.Slot, fd)
	}
	return nil
}

// clone makes a mount with the rights of the keeper, which is root: open_tree(2), mount_setattr(2).
func (r *Runner) clone(p *plan.Plan, j *jail, m *plan.Passed) (int, error) {
	src := p.Host.Sources[m.Key]
	fail := func(op string, err error) (int, error) {
		e := spec.HostError(op, words.Quote(src.Path),
			"use another file system, or accept a plain bind: --optional idmap")
		if !errors.As(err, &e.Errno) {
			e.Detail += ": " + err.Error()
		}
		return -1, e
	}
	fd, err := unix.OpenTree(src.Fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return fail("open_tree", err)
	}
	ns := -1
	if m.IDMap {
		if ns, err = r.idmap(src, p.Host); err != nil {
			unix.Close(fd)
			return fail("idmap", err)
		}
	}
	why, err := setAttributes(fd, m, ns, p.Spec)
	if err != nil {
		unix.Close(fd)
		return fail("idmapped mount (mount_setattr)", err)
	}
	if why != "" {
		j.made["idmap"] = why
	}
	return fd, nil
}

// setAttributes sets the attributes of a mount and of all mounts below it: mount_setattr(2). ns is the user namespace
// for an idmapped mount, or -1. Not every file system supports idmapping. A mount of such a file system below the
// source keeps its owners, and the payload does not get their rights. why states what was given up.
func setAttributes(fd int, m *plan.Passed, ns int, s *spec.Spec) (why string, err error) {
	attr := unix.MountAttr{Attr_set: m.Attr}
	plain := attr
	if ns >= 0 {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(ns)
	}
	const all = unix.AT_EMPTY_PATH | unix.AT_RECURSIVE
	if err = unix.MountSetattr(fd, "", all, &attr); err == nil || ns < 0 {
		return "", err
	}
	if !slices.Contains(s.Optional, "idmap") && slices.Contains(s.Require, "idmap") {
		return "", err
	}
	if perr := unix.MountSetattr(fd, "", all, &plain); perr != nil {
		return "", perr
	}
	if unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr) == nil {
		return "binds show their owner's files as the payload's, but not what is mounted below " + words.Quote(m.Target) +
			": mount_setattr: " + err.Error(), nil
	}
	if slices.Contains(s.Optional, "idmap") {
		return "not enforced for " + words.Quote(m.Target) + ": mount_setattr: " + err.Error() + " (optional)", nil
	}
	return "", err
}

// idmap returns a user namespace that maps the source's owner to the payload. The namespace needs a process while its
// map is written (user_namespaces(7)); the launcher spawns one that only waits.
func (r *Runner) idmap(src *host.Source, h *host.Host) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := [2]int{src.UID, src.GID}
	if fd, ok := r.idmaps[key]; ok {
		return fd, nil
	}
	p := program.New(2)
	p.Add("wait", unix.SYS_PPOLL, program.Named(0, "NULL"), program.Int(0), program.Named(0, "NULL"),
		program.Named(0, "NULL"), program.Int(0))
	null, err := run.OpenNull()
	if err != nil {
		return -1, err
	}
	defer unix.Close(null)
	pid, err := r.launcher.Do(p, program.Request{CloneFlags: unix.CLONE_NEWUSER, Cgroup: -1, Ward: true}, null)
	if err != nil {
		return -1, launcher.StepError("idmap", p, err)
	}
	defer launcher.Reap(pid)
	dir := "/proc/" + strconv.Itoa(pid)
	for _, m := range []struct{ file, text string }{{"/uid_map", fmt.Sprintf("%d %d 1", src.UID, h.PayloadUID)},
		{"/gid_map", fmt.Sprintf("%d %d 1", src.GID, h.PayloadGID)}} {
		if err := os.WriteFile(dir+m.file, []byte(m.text), 0); err != nil {
			return -1, err
		}
	}
	fd, err := unix.Open(dir+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		r.idmaps[key] = fd
	}
	return fd, err
}

package nsjail

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"brig/internal/program"
	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/internal/host"
	"brig/nsjail/internal/launcher"
	"brig/nsjail/internal/plan"
	"brig/nsjail/internal/run"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// pass makes the mounts that are passed with the prefix or the suffix of a program.
func (s *spawner) pass(p *plan.Plan, j *jail, h *passedFDs, prefix bool) (err error) {
	for _, m := range p.Passed {
		if m.InPrefix != prefix && p.Prefix != nil {
			continue
		}
		var fd int
		switch src := p.Host.Sources.At(m.Source); {
		case src.Volume != "":
			fd, err = s.volumes.mount(m.Source, src, m.Attr)
		case !p.Host.Drop:
			fd, err = s.helper.Mount(m.Source, src, m.Attr)
		default:
			fd, err = s.clone(p, j, &m)
		}
		if err != nil {
			return err
		}
		h.put(m.Slot, fd)
	}
	return nil
}

// clone makes a mount with the rights of the keeper, which is root: open_tree(2), mount_setattr(2).
func (s *spawner) clone(p *plan.Plan, j *jail, m *plan.Passed) (int, error) {
	src := p.Host.Sources.At(m.Source)
	fd, err := unix.OpenTree(src.Fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return -1, idmapError("open_tree", src, p.Host, err)
	}
	ns := -1
	if m.IDMap {
		if ns, err = s.idmap(src, p.Host); err != nil {
			unix.Close(fd)
			return -1, idmapError("idmap", src, p.Host, err)
		}
	}
	why, err := setAttributes(fd, m, ns, p.Spec)
	if err != nil {
		unix.Close(fd)
		return -1, idmapError("idmapped mount (mount_setattr)", src, p.Host, err)
	}
	if why != "" {
		j.made["idmap"] = words.Plain(why)
	}
	return fd, nil
}

func idmapError(op string, src *host.Source, h *host.Host, err error) error {
	var step *spec.Error // of the launcher, which makes the user namespace
	if errors.As(err, &step) && (step.Errno == unix.EPERM || step.Errno == unix.EACCES) {
		return namespaceError(unix.CLONE_NEWUSER, step.Errno, false, h)
	}
	e := spec.HostError(op, words.Quote(src.Path), "use another file system"+words.Clause(", or accept a plain bind: "+
		spec.Without("idmap")))
	if !errors.As(err, &e.Errno) {
		e.Detail += ": " + words.Plain(err.Error())
	}
	return e
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
func (s *spawner) idmap(src *host.Source, h *host.Host) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]int{src.UID, src.GID}
	if fd, ok := s.idmaps[key]; ok {
		return fd, nil
	}
	p := program.New(2)
	p.Add("wait", unix.SYS_PPOLL, program.Named(0, "NULL"), program.Int(0), program.Named(0, "NULL"),
		program.Named(0, "NULL"), program.Int(0))
	pid, err := s.alone(p, program.Request{CloneFlags: unix.CLONE_NEWUSER, Cgroup: -1, Ward: true})
	if err != nil {
		return -1, err
	}
	defer launcher.Reap(pid)
	err = s.mapOwner(src, h, pid)
	return s.idmaps[key], err
}

// alone makes the launcher perform a program without descriptors.
func (s *spawner) alone(p *program.Program, req program.Request) (pid int, err error) {
	null, err := run.OpenNull()
	if err != nil {
		return 0, err
	}
	defer unix.Close(null)
	pid, err = s.launcher.Do(p, req, null)
	return pid, launcher.StepError("idmap", p, err)
}

// mapOwner maps a source's owner to the payload in the user namespace of a process, and keeps that namespace.
func (s *spawner) mapOwner(src *host.Source, h *host.Host, pid int) error {
	dir := "/proc/" + strconv.Itoa(pid)
	for _, m := range []struct{ file, text string }{{"/uid_map", fmt.Sprintf("%d %d 1", src.UID, h.PayloadUID)},
		{"/gid_map", groupMap(src.GID, h.PayloadGID, groupsHere())}} {
		fd, err := unix.Open(dir+m.file, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_, err = sys.Write(fd, []byte(m.text))
		if err = errors.Join(err, unix.Close(fd)); err != nil {
			return err
		}
	}
	fd, err := unix.Open(dir+"/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		s.idmaps[[2]int{src.UID, src.GID}] = fd
	}
	return err
}

// mapByLauncher makes the launcher itself enter the user namespace of idmap, instead of a process that waits. It can if
// it has made the jail's first process already, which is to perform f, and if all binds have one owner. The next start
// ends it, so it must guard no other jail: this is the first.
func (s *spawner) mapByLauncher(p *plan.Plan, f *launcher.File) error {
	src := p.OneOwner()
	if src == nil {
		return nil
	}
	if idle, err := s.launcher.TakesAhead(f); err != nil || !idle {
		return err
	}
	enter := program.New(2)
	enter.Add("idmap", unix.SYS_UNSHARE, program.Named(unix.CLONE_NEWUSER, "CLONE_NEWUSER"))
	_, err := s.alone(enter, launcher.InItself)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.mapping = true
		err = s.mapOwner(src, p.Host, s.launcher.Pid())
	}
	if err != nil {
		return idmapError("idmap", src, p.Host, err)
	}
	return nil
}

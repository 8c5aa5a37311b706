package host

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// lookSources opens every file of the host that the Spec names, once, before the payload exists.
func (h *looker) lookSources() error {
	s := h.spec
	if s.Rootfs.Path != "" || len(s.Mounts) > 0 {
		h.remote.mounts = remoteMounts(h.table)
		h.remote.below = s.Tier != spec.TierProcess // which is not searched
	}
	if s.Rootfs.Path != "" {
		if err := h.lookImage(); err != nil {
			return err
		}
	}
	for i, m := range s.Mounts {
		id := SourceOf(i)
		switch m.Type {
		case spec.MountBind:
			src, err := h.openMount(id, m)
			if err != nil {
				return err
			}
			if s.Tier == spec.TierProcess { // it can make no socket, and the file is not shown elsewhere
				continue
			}
			if err := h.channels(id, m, src); err != nil {
				return err
			}
			if !m.Writable && !m.Live && !src.Dir {
				if err := h.copyBound(src); err != nil {
					return err
				}
			}
		case spec.MountCOW:
			src, err := h.openMount(id, m)
			if err != nil {
				return err
			}
			if !src.Dir {
				return sourceError(id, m.Source, unix.ENOTDIR, "name a directory, or show the file with "+spec.ShowFile())
			}
		case spec.MountFile:
			if err := h.copyFile(id, m.Source); err != nil {
				return err
			}
		}
	}
	for i, m := range s.COWs() {
		if err := h.lookUpper(i, m); err != nil {
			return err
		}
	}
	h.lookPoints()
	if err := h.hardLinks(); err != nil {
		return err
	}
	return h.lookProtect()
}

// lookImage opens the tree of Spec.Rootfs.
func (h *looker) lookImage() error {
	src, err := h.open(SourceOf(spec.Root), h.spec.Rootfs.Path)
	if err != nil {
		return err
	}
	if !src.Dir {
		return fieldError("rootfs.path", h.spec.Rootfs.Path, unix.ENOTDIR, "name a directory tree")
	}
	h.ImageLacks = h.lacking(src, h.spec.Net)
	h.ImageComplete = h.complete(src, h.spec)
	h.lookTops(src)
	return nil
}

// lookRoot opens the Spec's root again where it is the only source and no mount has changed since lookSources looked at
// it. If its identity has not changed either, nothing else of it has.
func (h *looker) lookRoot(was *Source) error {
	s := h.spec
	fd, err := unix.Open(was.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return sourceError(SourceOf(spec.Root), s.Rootfs.Path, err, "name a path that exists")
	}
	src := *was
	src.Fd = fd
	h.Sources.Put(SourceOf(spec.Root), &src)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return sourceError(SourceOf(spec.Root), s.Rootfs.Path, err, "check the file system")
	}
	src.Dev, src.Ino, src.UID, src.GID = uint64(st.Dev), st.Ino, int(st.Uid), int(st.Gid)
	h.ImageComplete = h.ImageComplete && h.complete(&src, s)
	h.lookTops(&src)
	return nil
}

func (h *looker) open(id SourceID, path string) (*Source, error) {
	abs, err := sys.Abs(path)
	if err != nil {
		return nil, sourceError(id, path, err, "name a path that exists")
	}
	fd, err := h.remote.openPath(id, path, abs)
	var told *spec.Error
	if errors.As(err, &told) {
		return nil, err
	}
	if err != nil {
		remedy := "name a path that exists"
		switch {
		case errors.Is(err, unix.ENOENT) && id.Mount != spec.Root:
			remedy += ", or make a directory first: mkdir -p " + words.Quote(path)
		case errors.Is(err, unix.EACCES):
			remedy = "give this user search permission on every directory of the path"
		}
		return nil, sourceError(id, path, err, remedy)
	}
	return h.examine(id, path, &Source{Path: abs, Fd: fd})
}

// openMount opens the source of a bind or a cow. A file that the caller holds is not looked up again: the path may lead
// to another one by now. Where the jail opens the path itself, it checks that it has got this file.
func (h *looker) openMount(id SourceID, m spec.Mount) (*Source, error) {
	if m.Held == nil {
		return h.open(id, m.Source)
	}
	fd, err := unix.FcntlInt(m.Held.File.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, sourceError(id, m.Source, err, "keep the file open until the jail has started")
	}
	return h.examine(id, m.Source, &Source{Path: m.Source, Fd: fd})
}

// examine adds an open source to the Host, with its type, device and inode from fstat(2).
func (h *looker) examine(id SourceID, path string, src *Source) (*Source, error) {
	h.Sources.Put(id, src)
	fd, abs := src.Fd, src.Path
	if err := h.remote.answers(id, path, fd); err != nil {
		return nil, err
	}
	var st, root unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &st), unix.Stat("/", &root)); err != nil {
		return nil, sourceError(id, path, err, "check the file system")
	}
	src.Dev, src.Ino, src.UID, src.GID = uint64(st.Dev), st.Ino, int(st.Uid), int(st.Gid)
	src.Mode = st.Mode
	src.Stays = src.stays(root.Dev, h.table)
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		src.Dir = true
		o := overlays{h.Missing["overlay"].String(), h.table}
		if src.NoOverlay = o.no(abs); strings.ContainsAny(abs, "\n") {
			src.NoOverlay = "its name has a newline"
		}
		src.Root = root.Dev == st.Dev && root.Ino == st.Ino
	case unix.S_IFREG:
		src.NoOverlay = "it is a file of more than " + spec.Bytes(MaxBoundCopy).String()
	case unix.S_IFSOCK:
		return nil, sourceError(id, path, errors.New("is a socket: the payload could talk to the host through it"),
			"do not share it")
	default:
		return nil, sourceError(id, path, errors.New("is neither a directory nor a regular file"),
			"share a directory or a file")
	}
	return src, nil
}

// stays reports whether a source is in the root file system or in a tmpfs, and has no mount point below it. Unmounting
// a tmpfs frees no device and writes no data, so the caller cannot tell whether it has happened yet.
func (src *Source) stays(root uint64, mounts table) bool {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(src.Fd, &fs); err != nil || src.Dev != root && fs.Type != unix.TMPFS_MAGIC {
		return false
	}
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(src.Fd))
	if err != nil || strings.ContainsAny(path, " \t\n\\") { // the mount table has escapes for these
		return false
	}
	return !mounts.below(path)
}

// lookOwner chooses the payload's uid where root lacks CAP_SYS_ADMIN or CAP_SYS_PTRACE, as in docker's default
// container, and in the process tier: no mount maps an owner to the payload (mount_setattr(2)) there. So that runs as
// the owner of the writable binds, as if that user had called brig, but never as root.
func (h *looker) lookOwner() error {
	maps := h.Missing["idmap"] == "" && h.spec.Tier != spec.TierProcess
	if !h.Drop || maps || slices.Contains(h.spec.Optional, "idmap") {
		return nil
	}
	for i, m := range h.spec.Mounts {
		src, writes := h.Sources.Of(i), m.Type == spec.MountCOW || m.Type == spec.MountBind && m.Writable
		if writes && !m.Internal() && src.UID != 0 {
			h.Owner, h.PayloadUID, h.PayloadGID = src.UID, src.UID, cmp.Or(src.GID, src.UID)
			break
		}
	}
	return nil
}

// Permits returns the access that the mode of a file allows a user, as the bits for others: path_resolution(7).
func (s *Source) Permits(uid, gid int) uint32 {
	switch {
	case uid == s.UID:
		return s.Mode >> 6 & 7
	case gid == s.GID:
		return s.Mode >> 3 & 7
	}
	return s.Mode & 7
}

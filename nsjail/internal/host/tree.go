package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"brig/internal/words"
	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// channels refuses a bind through which the payload could reach a process of the host: a read-only mount stops neither
// connect(2) to a socket nor open(2) of a FIFO for writing. A private overlay does, so only what is shared live is
// searched.
func (h *looker) channels(id SourceID, m spec.Mount, src *Source) error {
	s := h.spec
	if !src.Dir || m.Internal() || slices.Contains(s.Optional, "sockets") ||
		!m.Writable && !m.Live && src.NoOverlay == "" {
		return nil
	}
	return h.walk(id, m.Source, src, func(v walk.Entry) error {
		what := ""
		switch {
		case v.Kind == unix.S_IFDIR && showsCopy(s, filepath.Join(m.Target, v.Path())):
			return fs.SkipDir
		case v.Kind != unix.S_IFIFO && v.Kind != unix.S_IFSOCK || h.closed(s, src, v.Dir, v.Name()):
			return nil
		case v.Kind == unix.S_IFIFO:
			what = "FIFO"
		case alive(v.Dir, v.Name()):
			what = "socket of a running process"
		default:
			return nil
		}
		return sourceError(id, m.Source, fmt.Errorf("holds a %s, %s: the payload could talk to the host through it",
			what, words.Quote(v.Path())),
			"remove it"+words.Clause(", share the tree with "+spec.ShowInput())+
				words.Clause(", or list sockets under "+words.Field("optional")))
	})
}

// showsCopy reports whether a mount shows a copy of the directory at a place of the jail (spec.MountCOW). The FIFOs and
// sockets of a copy are others than the host's.
func showsCopy(s *spec.Spec, target string) bool {
	return slices.ContainsFunc(s.Mounts, func(m spec.Mount) bool { return m.Type == spec.MountCOW && m.Target == target })
}

// closed reports whether the payload can neither read nor write a FIFO or a socket of somebody else's: connect(2) takes
// write permission. An ordinary user's payload is that user. In root's idmapped mounts it is the source's owner, and
// nobody may write to an inode of another user; below them may be others, where it is a user whom nothing belongs to.
func (h *looker) closed(s *spec.Spec, src *Source, dirfd int, name string) bool {
	var st unix.Stat_t
	if err := unix.Fstatat(dirfd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false
	}
	owner := int(st.Uid)
	if h.Drop {
		return h.Missing["idmap"] == "" && !slices.Contains(s.Optional, "idmap") && owner != src.UID &&
			owner != h.PayloadUID && st.Mode&0o066 == 0 // the bits for the group bound an access control list, too: acl(5)
	}
	const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_EACCESS
	return owner != h.UID && unix.Faccessat(dirfd, name, unix.W_OK, flags) == unix.EACCES &&
		(st.Mode&unix.S_IFMT == unix.S_IFSOCK || unix.Faccessat(dirfd, name, unix.R_OK, flags) == unix.EACCES)
}

// alive reports whether a process has a socket bound to a file, in any network namespace. connect(2) with another type
// than the socket's changes nothing and returns EPROTOTYPE. If no process has the socket, it returns ECONNREFUSED, now
// and later, since bind(2) makes a new file. Any other result counts as alive.
func alive(dirfd int, name string) bool {
	fd, err := unix.Openat(dirfd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return !errors.Is(err, unix.ENOENT)
	}
	defer unix.Close(fd)
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return true
	}
	defer unix.Close(s)
	return unix.Connect(s, &unix.SockaddrUnix{Name: "/proc/self/fd/" + strconv.Itoa(fd)}) != unix.ECONNREFUSED
}

// hardLinks refuses a read-only bind inside of a writable one if the payload could write to a file of it by another
// name in the writable one (link(2)).
func (h *looker) hardLinks() error {
	s := h.spec
	for i, w := range s.Mounts {
		if w.Type != spec.MountBind || !w.Writable {
			continue
		}
		inside := func(target string) bool { return strings.HasPrefix(target, w.Target+"/") }
		linked := walk.Links{}
		for j, m := range s.Mounts {
			if m.Type != spec.MountBind || m.Writable || !inside(m.Target) {
				continue
			}
			if err := h.linkedFiles(SourceOf(j), m, linked); err != nil {
				return err
			}
		}
		id := SourceOf(i)
		src := h.Sources.At(id)
		if len(linked) == 0 || !src.Dir {
			continue
		}
		err := h.walk(id, w.Source, src, func(v walk.Entry) error {
			protected, found := linked.Same(v)
			if !found {
				return nil
			}
			at := filepath.Join(w.Target, v.Path())
			for _, m := range s.Mounts {
				found = found && !(inside(m.Target) && (at == m.Target || strings.HasPrefix(at, m.Target+"/")))
			}
			if !found {
				return nil
			}
			return sourceError(id, w.Source, fmt.Errorf("holds %s, which is the same file as the protected %s "+
				"(a hard link)", words.Quote(v.Path()), words.Quote(protected)),
				breakLink(filepath.Join(w.Source, v.Path())))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// linkedFiles adds the files of a read-only bind that have more than one name.
func (h *looker) linkedFiles(id SourceID, m spec.Mount, to walk.Links) error {
	src := h.Sources.At(id)
	if !src.Dir {
		var st unix.Stat_t
		if err := unix.Fstat(src.Fd, &st); err != nil {
			return sourceError(id, m.Source, err, "check the file system")
		}
		to.Add(&st, m.Target)
		return nil
	}
	return h.walk(id, m.Source, src, func(v walk.Entry) error {
		to.Visit(v, m.Target)
		return nil
	})
}

// walk visits the first walk.Max entries of a source's tree, and notes if there are more.
func (h *looker) walk(id SourceID, source string, src *Source, visit walk.Visit) error {
	seen, err := walk.Tree(src.Fd, ".", visit)
	var e *spec.Error
	if err != nil && !errors.As(err, &e) {
		return sourceError(id, source, err, "make the tree readable"+
			words.Clause(", or list sockets under "+words.Field("optional")))
	}
	if err == nil && seen >= walk.Max {
		h.Partial = append(h.Partial, words.Plain(fmt.Sprintf("sockets: only the first %d entries of %s were checked",
			walk.Max, words.Quote(source))))
	}
	return err
}

package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// maxWalk bounds the search of a shared tree, so that a huge one does not delay the jail.
const maxWalk = 4096

// channels refuses a bind through which the payload could reach a process of the host: a read-only mount stops neither
// connect(2) to a socket nor open(2) of a FIFO for writing. A private overlay does, so only what is shared live is
// searched.
func (h *looker) channels(id SourceID, m spec.Mount, src *Source) error {
	s := h.spec
	if !src.Dir || slices.Contains(s.Optional, "sockets") || !m.Writable && !m.Live && src.NoOverlay == "" {
		return nil
	}
	return h.walk(id, m.Source, src, func(dirfd int, path string, e os.DirEntry) error {
		what := ""
		switch {
		case e.Type()&(os.ModeNamedPipe|os.ModeSocket) == 0 || h.closed(s, src, dirfd, e.Name()):
			return nil
		case e.Type()&os.ModeNamedPipe != 0:
			what = "FIFO"
		case alive(dirfd, e.Name()):
			what = "socket of a running process"
		default:
			return nil
		}
		return sourceError(id, m.Source, fmt.Errorf("holds a %s, %s: the payload could talk to the host through it",
			what, words.Quote(path)),
			"remove it"+words.Clause(", share the tree with "+spec.ShowInput())+
				words.Clause(", or list sockets under "+words.Field("optional")))
	})
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

// fileID is a file by its identity.
type fileID struct{ dev, ino uint64 }

// hardLinks refuses a read-only bind inside of a writable one if the payload could write to a file of it by another
// name in the writable one (link(2)).
func (h *looker) hardLinks() error {
	s := h.spec
	for i, w := range s.Mounts {
		if w.Type != spec.MountBind || !w.Writable {
			continue
		}
		inside := func(target string) bool { return strings.HasPrefix(target, w.Target+"/") }
		linked := map[fileID]string{}
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
		err := h.walk(id, w.Source, src, func(dirfd int, path string, e os.DirEntry) error {
			file, _ := identify(dirfd, e)
			protected, found := linked[file]
			at := filepath.Join(w.Target, path)
			for _, m := range s.Mounts {
				found = found && !(inside(m.Target) && (at == m.Target || strings.HasPrefix(at, m.Target+"/")))
			}
			if !found {
				return nil
			}
			return sourceError(id, w.Source, fmt.Errorf("holds %s, which is the same file as the protected %s "+
				"(a hard link)", words.Quote(path), words.Quote(protected)),
				breakLink(filepath.Join(w.Source, path)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// linkedFiles adds the files of a read-only bind that have more than one name.
func (h *looker) linkedFiles(id SourceID, m spec.Mount, to map[fileID]string) error {
	src := h.Sources.At(id)
	if !src.Dir {
		var st unix.Stat_t
		if err := unix.Fstat(src.Fd, &st); err != nil {
			return sourceError(id, m.Source, err, "check the file system")
		}
		if st.Nlink > 1 {
			to[fileID{uint64(st.Dev), st.Ino}] = m.Target
		}
		return nil
	}
	return h.walk(id, m.Source, src, func(dirfd int, path string, e os.DirEntry) error {
		if file, links := identify(dirfd, e); links > 1 {
			to[file] = filepath.Join(m.Target, path)
		}
		return nil
	})
}

// identify looks at a regular file of a directory; anything else has no links.
func identify(dirfd int, e os.DirEntry) (id fileID, links uint64) {
	var st unix.Stat_t
	if !e.Type().IsRegular() || unix.Fstatat(dirfd, e.Name(), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return fileID{}, 0
	}
	return fileID{uint64(st.Dev), st.Ino}, uint64(st.Nlink)
}

// visitor is called for each entry of a tree, with the directory's descriptor and the entry's path in the tree.
type visitor func(dirfd int, path string, e os.DirEntry) error

// walk visits the first maxWalk entries of a source's tree, and notes if there are more.
func (h *looker) walk(id SourceID, source string, src *Source, visit visitor) error {
	seen := 0
	err := walk(src.Fd, ".", "", &seen, 0, visit)
	var e *spec.Error
	if err != nil && !errors.As(err, &e) {
		return sourceError(id, source, err, "make the tree readable"+
			words.Clause(", or list sockets under "+words.Field("optional")))
	}
	if err == nil && seen >= maxWalk {
		h.Partial = append(h.Partial, words.Plain(fmt.Sprintf("sockets: only the first %d entries of %s were checked",
			maxWalk, words.Quote(source))))
	}
	return err
}

// walk looks at a directory and those in it through descriptors: others may write there and change names meanwhile.
func walk(parent int, name, prefix string, seen *int, depth int, visit visitor) error {
	fd, err := sys.Retry(func() (int, error) {
		return unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	switch err {
	case nil:
	case unix.EACCES, unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return nil // the payload cannot look there either, or it was removed, or is no longer a directory
	default:
		return err
	}
	d := os.NewFile(uintptr(fd), prefix)
	defer d.Close()
	for *seen < maxWalk && depth < 32 {
		list, err := d.ReadDir(256)
		for _, e := range list {
			if *seen >= maxWalk {
				return nil
			}
			*seen++
			path := filepath.Join(prefix, e.Name())
			if err := visit(fd, path, e); err != nil {
				return err
			}
			if !e.IsDir() {
				continue
			}
			if err := walk(fd, e.Name(), path, seen, depth+1, visit); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // io.EOF
		}
	}
	return nil
}

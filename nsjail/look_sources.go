package nsjail

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFileCopy bounds what --file copies into a jail; a bind carries more.
const maxFileCopy = 4 << 20

// maxData bounds what the contents of a Spec's mounts add to its program.
const maxData = 12 << 20

// lookSources opens every file of the host that the Spec names, once, before the payload exists.
func (h *Host) lookSources(s *Spec) error {
	if s.Rootfs.Path != "" {
		src, err := h.open("rootfs", s.Rootfs.Path)
		if err != nil {
			return err
		}
		if !src.Dir {
			return sourceError("rootfs.path", s.Rootfs.Path, unix.ENOTDIR, "name a directory tree")
		}
	}
	for i, m := range s.Mounts {
		key := fmt.Sprintf("mounts[%d].source", i)
		switch m.Type {
		case MountBind:
			src, err := h.open(key, m.Source)
			if err != nil {
				return err
			}
			if err := h.sockets(s, key, m, src); err != nil {
				return err
			}
		case MountFile:
			if err := h.copyFile(key, m.Source); err != nil {
				return err
			}
		}
	}
	return nil
}

func sourceError(key, path string, err error, remedy string) error {
	e := &Error{Fault: FaultCaller, Op: key, Detail: quote(path), Remedy: remedy}
	if !errors.As(err, &e.Errno) {
		e.Detail += ": " + err.Error()
	}
	return e
}

func (h *Host) open(key, path string) (*Source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, sourceError(key, path, err, "name a path that exists")
	}
	fd, err := unix.Open(abs, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		remedy := "name a path that exists"
		switch {
		case errors.Is(err, unix.ENOENT) && strings.HasPrefix(key, "mounts["):
			remedy += ", or make a directory first: mkdir -p " + quote(path)
		case errors.Is(err, unix.EACCES):
			remedy = "give this user search permission on every directory of the path"
		}
		return nil, sourceError(key, path, err, remedy)
	}
	src := &Source{Path: abs, fd: fd}
	h.Sources[key] = src
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, sourceError(key, path, err, "check the file system")
	}
	src.Dev, src.Ino, src.UID, src.GID = uint64(st.Dev), st.Ino, int(st.Uid), int(st.Gid)
	src.Mode = st.Mode
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		src.Dir = true
		if src.NoOverlay = h.noOverlay(abs); strings.ContainsAny(abs, "\n") {
			src.NoOverlay = "its name has a newline"
		}
		var root unix.Stat_t
		src.Root = src.NoOverlay != "" && unix.Stat("/", &root) == nil && root.Dev == st.Dev && root.Ino == st.Ino
	case unix.S_IFREG:
		src.NoOverlay = "it is a file"
	case unix.S_IFSOCK:
		return nil, sourceError(key, path, errors.New("is a socket: the payload could talk to the host through it"), "do not share it")
	default:
		return nil, sourceError(key, path, errors.New("is neither a directory nor a regular file"), "share a directory or a file")
	}
	return src, nil
}

func (h *Host) copyFile(key, path string) error {
	// O_NONBLOCK: a FIFO must not hang us; the type is checked on the descriptor.
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return sourceError(key, path, err, "name a readable file")
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return sourceError(key, path, err, "name a readable file")
	}
	if !st.Mode().IsRegular() {
		return sourceError(key, path, errors.New("is not a regular file"), "name a regular file, or bind it")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFileCopy+1))
	if err != nil {
		return sourceError(key, path, err, "name a readable file")
	}
	if len(b) > maxFileCopy {
		return sourceError(key, path, fmt.Errorf("is larger than %s", Bytes(maxFileCopy)), "bind it with --ro-bind instead")
	}
	h.Sources[key] = &Source{Path: path, Content: string(b), fd: -1}
	return nil
}

// maxWalk bounds the search for sockets, so that a huge tree does not delay the jail.
const maxWalk = 4096

// sockets refuses a bind through which the payload could reach a socket of the host: a read-only mount does not stop
// connect(2). A private overlay does, so only what is shared live is searched.
func (h *Host) sockets(s *Spec, key string, m Mount, src *Source) error {
	if !src.Dir || contains(s.Optional, "sockets") || !m.Writable && !m.Live && src.NoOverlay == "" {
		return nil
	}
	seen := 0
	err := walk(src.fd, "", &seen, 0)
	var found socketFound
	if errors.As(err, &found) {
		return sourceError(key, m.Source, fmt.Errorf("holds a socket, %s: the payload could talk to the host through it", quote(string(found))),
			"remove it, share it with --input, or list sockets under --optional")
	}
	if err != nil {
		return sourceError(key, m.Source, err, "make the tree readable, or list sockets under --optional")
	}
	if seen >= maxWalk {
		h.Partial = append(h.Partial, fmt.Sprintf("sockets: only the first %d entries of %s were checked", maxWalk, quote(m.Source)))
	}
	return nil
}

type socketFound string

func (socketFound) Error() string { return "socket" }

// walk looks at a tree through descriptors: names in it belong to whoever may write there.
func walk(dirfd int, prefix string, seen *int, depth int) error {
	fd, err := unix.Openat(dirfd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if errors.Is(err, syscall.EACCES) {
		return nil // the payload cannot look there either
	}
	if err != nil {
		return err
	}
	d := os.NewFile(uintptr(fd), prefix)
	defer d.Close()
	for *seen < maxWalk && depth < 32 {
		list, err := d.ReadDir(256)
		for _, e := range list {
			if *seen++; e.Type()&os.ModeSocket != 0 {
				return socketFound(filepath.Join(prefix, e.Name()))
			}
			if !e.IsDir() || *seen >= maxWalk {
				continue
			}
			sub, err := unix.Openat(fd, e.Name(), unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
			if err != nil {
				continue // it went away, or is no directory any more
			}
			err = walk(sub, filepath.Join(prefix, e.Name()), seen, depth+1)
			unix.Close(sub)
			if err != nil {
				return err
			}
		}
		if err != nil {
			return nil // io.EOF
		}
	}
	return nil
}

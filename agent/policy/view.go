package policy

import (
	"errors"
	"path"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/nsjail"

	"golang.org/x/sys/unix"
)

// nonblock keeps open(2) from blocking on a FIFO.
const nonblock = unix.O_NONBLOCK

// WorkAreas returns the paths of a jail that are always allowed as mount targets.
func WorkAreas() []string {
	return []string{"/input", "/work", "/output", "/tmp", "/run", "/home", "/mnt", "/srv", "/data", "/code"}
}

// scratch are paths of the jail whose content is created for the jail or may have been written by an earlier run.
// minScratch has those of the minimal root, where /run, /home and /root are among them.
var (
	scratch    = []string{"/input", "/work", "/output", "/tmp", "/var/tmp", "/proc", "/dev", "/sys"}
	minScratch = append(scratch[:len(scratch):len(scratch)], "/run", "/home", "/root")
)

// errUnknown means that the file at a path of the jail cannot be determined in advance, because the path is below a
// writable mount or a mount created for the run.
var errUnknown = errors.New("it lies where the run itself, or one before it, may have put it")

// view resolves paths as the future jail will, as far as they lead to files of the host. It opens one path component at
// a time without following symbolic links (openat2(2), RESOLVE_NO_SYMLINKS), and follows each link as the jail will:
// from the jail's root and through its mounts. Its descriptors stay open until close.
type view struct {
	spec    *nsjail.Spec
	targets []string    // targets of spec.Mounts, with symbolic links resolved
	fds     map[int]int // descriptors of sources, by the mount's index; -1 is the root
	seen    map[string]seen
	hosts   map[int]leads // by the mount's index, -1 for the root
	bad     error         // if not nil, no path can be resolved
}

// leads is the resolved host path of a source.
type leads struct {
	path string
	err  error
}

// seen is a cached result of look.
type seen struct {
	f    *file
	link string
	err  error
}

// file is a resolved file.
type file struct {
	path     string // canonical, in the jail
	dev, ino uint64
	mode     uint32
	bind     int // index of the mount that contains it; -1 for the root
}

func newView(s *nsjail.Spec) *view {
	v := &view{spec: s, fds: map[int]int{}, seen: map[string]seen{}, hosts: map[int]leads{}}
	for i := range s.Mounts {
		where, err := v.canonical(s.Mounts[i].Target)
		if err != nil && v.bad == nil {
			v.bad = err
		}
		v.targets = append(v.targets, where)
		clear(v.seen) // the mount may hide files that were looked up before
	}
	return v
}

func (v *view) close() {
	for _, fd := range v.fds {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// canonical returns a mount's target with symbolic links resolved. Missing components are kept, since the jail creates
// them. A target below a directory that may contain a symbolic link made by a payload or by the Spec is an error: it
// could lead anywhere.
func (v *view) canonical(target string) (string, error) {
	f, left, err := v.walk(target)
	where := path.Join(f.path, left)
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return where, nil
	case errors.Is(err, errUnknown) && v.linked(where):
		return target, errUnknown
	case errors.Is(err, errUnknown):
		return where, nil
	}
	return target, err
}

// linked reports whether a component of p may be a symbolic link that is not known yet.
func (v *view) linked(p string) bool {
	for i, t := range v.targets {
		m := v.spec.Mounts[i]
		if p == t || !under(p, t) {
			continue
		}
		if m.Type == nsjail.MountSymlink || m.Writable || m.Type == nsjail.MountVolume && !inputOf(m.Source) {
			return true
		}
	}
	return false
}

// inputOf reports whether a source is a volume's input directory, which no payload can write to.
func inputOf(source string) bool { return strings.HasSuffix(source, "/input") }

// maxLinks is the number of symbolic links that Linux follows in one lookup: path_resolution(7).
const maxLinks = 40

// resolve returns the file at an absolute path of the jail.
func (v *view) resolve(p string) (*file, error) {
	if v.bad != nil {
		return nil, v.bad
	}
	f, _, err := v.walk(p)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// walk resolves as much of p as it can. f is the last file that it reached, left the unresolved rest of the path.
func (v *view) walk(p string) (f *file, left string, err error) {
	top := &file{path: "/", mode: unix.S_IFDIR, bind: -1}
	f, left = top, p
	for links := 0; ; {
		var name string
		if name, left = first(left); name == "" {
			return f, "", nil
		}
		if f.mode&unix.S_IFMT != unix.S_IFDIR {
			return f, left, unix.ENOTDIR
		}
		if name == "." {
			continue
		}
		if name == ".." {
			f = &file{path: path.Dir(f.path), mode: unix.S_IFDIR, bind: -1}
			continue
		}
		next := path.Join(f.path, name)
		got, link, err := v.look(next)
		switch {
		case errors.Is(err, errUnknown):
			return &file{path: next, mode: unix.S_IFDIR}, left, err
		case err != nil:
			return f, path.Join(name, left), err
		case link == "":
			f = got
			continue
		}
		if links++; links > maxLinks {
			return f, left, unix.ELOOP
		}
		if strings.HasPrefix(link, "/") {
			f = top
		}
		if left = strings.TrimSuffix(link+"/"+left, "/"); strings.HasSuffix(link, "/") {
			left += "/"
		}
	}
}

// first splits off the first component of a path. Like the kernel, it takes a trailing slash to mean a directory.
func first(p string) (name, rest string) {
	trimmed := strings.TrimLeft(p, "/")
	name, rest, slash := strings.Cut(trimmed, "/")
	if slash && strings.Trim(rest, "/") == "" && name != "" {
		rest = "."
	}
	return name, rest
}

// look reads one component whose parent is canonical. If it is a symbolic link, link is its target.
func (v *view) look(p string) (*file, string, error) {
	if have, ok := v.seen[p]; ok {
		return have.f, have.link, have.err
	}
	f, link, err := v.read(p)
	v.seen[p] = seen{f, link, err}
	return f, link, err
}

func (v *view) read(p string) (f *file, link string, err error) {
	bind, fd, rel, err := v.source(p)
	if err == nil && rel == "." { // the source of a bind mount: its symbolic links are resolved already
		return v.stat(p, bind, fd)
	}
	if err == nil {
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
		var opened int
		if opened, err = sys.Openat2(fd, rel, &how); err == nil {
			defer unix.Close(opened)
			return v.stat(p, bind, opened)
		}
	}
	if errors.Is(err, unix.ENOENT) && slices.ContainsFunc(v.targets, func(t string) bool { return under(t, p) }) {
		return &file{path: p, mode: unix.S_IFDIR, bind: -1}, "", nil // the jail creates the parent directories of a mount
	}
	return nil, "", err
}

func (v *view) stat(p string, bind, fd int) (*file, string, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, "", err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		buf := make([]byte, 4096)
		n, err := unix.Readlinkat(fd, "", buf) // readlink(2) of the descriptor itself
		return nil, string(buf[:max(n, 0)]), err
	}
	return &file{path: p, dev: uint64(st.Dev), ino: st.Ino, mode: st.Mode, bind: bind}, "", nil
}

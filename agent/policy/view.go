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

// nonblock keeps a FIFO in the place of a file from holding us up: open(2).
const nonblock = unix.O_NONBLOCK

// WorkAreas are the paths of a jail where mounts may be put without paths.targets.
func WorkAreas() []string {
	return []string{"/input", "/work", "/output", "/tmp", "/run", "/home", "/mnt", "/srv", "/data", "/code"}
}

// scratch are paths whose content a jail makes for itself, or a run before it may have written; the last ones only
// where the root is the minimal one.
var (
	scratch    = []string{"/input", "/work", "/output", "/tmp", "/var/tmp", "/proc", "/dev", "/sys"}
	minScratch = append(scratch[:len(scratch):len(scratch)], "/run", "/home", "/root")
)

// errUnknown is returned where it cannot be known outside what a path will be in the jail: below a mount that is
// written to or made for the run.
var errUnknown = errors.New("it lies where the run itself, or one before it, may have put it")

// view is the tree of files that a jail will show, as far as it shows files of the host. It is read by descriptors that
// are held until close, one name at a time and without following links (openat2(2), RESOLVE_NO_SYMLINKS): a link is
// followed as the jail will follow it, from the jail's root and through its mounts.
type view struct {
	spec    *nsjail.Spec
	targets []string    // of spec.Mounts, where they will be in the end: links on the way are followed
	fds     map[int]int // a source's descriptor, by the mount's index; -1 is the root's
	seen    map[string]seen
	hosts   map[int]leads // by the mount's index, -1 for the root
	bad     error         // why no path can be told
}

// leads is where a source leads on the host.
type leads struct {
	path string
	err  error
}

// seen is what look has found: a path is read once.
type seen struct {
	f    *file
	link string
	err  error
}

// file is what a path leads to.
type file struct {
	path     string // canonical, in the jail
	dev, ino uint64
	mode     uint32
	bind     int // the index of the mount that shows it; -1 for the root
}

func newView(s *nsjail.Spec) *view {
	v := &view{spec: s, fds: map[int]int{}, seen: map[string]seen{}, hosts: map[int]leads{}}
	for i := range s.Mounts {
		where, err := v.canonical(s.Mounts[i].Target)
		if err != nil && v.bad == nil {
			v.bad = err
		}
		v.targets = append(v.targets, where)
		clear(v.seen) // the mount may hide what was there
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

// canonical is where a mount's target is in the end; what does not exist is made by the jail. A target below something
// that may hold a link of a payload's, or of the Spec's own, could be anywhere.
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

// linked reports whether there may be a link on the way to p.
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

// inputOf reports whether a volume's directory is the one that no payload writes to.
func inputOf(source string) bool { return strings.HasSuffix(source, "/input") }

// maxLinks is how many links Linux follows: path_resolution(7).
const maxLinks = 40

// resolve finds what an absolute path of the jail leads to.
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

// walk goes as far as it can: f.path is how far, left what remains.
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

// first parts a path's first name from the rest. A slash at the end asks for a directory, as to the kernel.
func first(p string) (name, rest string) {
	trimmed := strings.TrimLeft(p, "/")
	name, rest, slash := strings.Cut(trimmed, "/")
	if slash && strings.Trim(rest, "/") == "" && name != "" {
		rest = "."
	}
	return name, rest
}

// look reads one name, whose parent is canonical. link is its text if it is a link.
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
	if err == nil && rel == "." { // the source of a bind: its path has been followed already
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
		return &file{path: p, mode: unix.S_IFDIR, bind: -1}, "", nil // the jail makes what leads to a mount
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
		n, err := unix.Readlinkat(fd, "", buf) // readlink(2): the descriptor's own link
		return nil, string(buf[:max(n, 0)]), err
	}
	return &file{path: p, dev: uint64(st.Dev), ino: st.Ino, mode: st.Mode, bind: bind}, "", nil
}

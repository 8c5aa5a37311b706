// Package jailpath resolves paths as a future jail will, as far as they lead to files of the host: which file it
// executes by a name, and where a mount's source and target are.
package jailpath

import (
	"cmp"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"brig/internal/sys"
	"brig/nsjail"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// scratch are paths of the jail whose content is created for the jail or may have been written by an earlier run.
// minScratch has those of the minimal root, where /run, /home and /root are among them.
var (
	scratch    = []string{"/input", "/work", "/output", "/tmp", "/var/tmp", "/proc", "/dev", "/sys"}
	minScratch = append(scratch[:len(scratch):len(scratch)], "/run", "/home", "/root")
)

// errUnknown means that the file at a path of the jail cannot be determined in advance, because the path is below a
// writable mount or a mount created for the run.
var errUnknown = errors.New("it lies where the run itself, or one before it, may have put it")

// View resolves paths as the future jail will, as far as they lead to files of the host. It opens one path component at
// a time without following symbolic links (openat2(2), RESOLVE_NO_SYMLINKS), and follows each link as the jail will:
// from the jail's root and through its mounts. Its descriptors stay open until Close.
type View struct {
	Spec    *nsjail.Spec
	Targets []string      // targets of Spec.Mounts, with symbolic links resolved
	sources map[int]*tree // by the mount's index; -1 is the root
	seen    map[string]seen
	Bad     error // if not nil, no path can be resolved
}

// tree is the source of a mount, or the root.
type tree struct {
	path string // on the host, with all symbolic links resolved
	fd   int    // -1 until it is opened
	err  error
}

// seen is a cached result of look.
type seen struct {
	f   *File
	err error
}

// File is a resolved file.
type File struct {
	Path     string // canonical, in the jail
	Dev, Ino uint64
	Mode     uint32
	link     string // the target of a symbolic link
	Bind     int    // index of the mount that contains it; -1 for the root
}

// directory returns a directory of the jail of which nothing else is known.
func directory(p string) *File { return &File{Path: p, Mode: unix.S_IFDIR, Bind: -1} }

// New returns the view of the jail of a Spec, which is not changed meanwhile.
func New(s *nsjail.Spec) *View {
	v := &View{Spec: s, sources: map[int]*tree{}, seen: map[string]seen{}}
	for i := range s.Mounts {
		where, err := v.canonical(s.Mounts[i].Target)
		v.Bad = cmp.Or(v.Bad, err)
		v.Targets = append(v.Targets, where)
		clear(v.seen) // the mount may hide files that were looked up before
	}
	return v
}

// Close closes the descriptors.
func (v *View) Close() {
	for _, t := range v.sources {
		if t.fd >= 0 {
			unix.Close(t.fd)
		}
	}
}

// canonical returns a mount's target with symbolic links resolved. Missing components are kept, since the jail creates
// them. A target below a directory that may contain a symbolic link made by a payload or by the Spec is an error: it
// could lead anywhere.
func (v *View) canonical(target string) (string, error) {
	_, where, err := v.walk(target)
	if err == nil || errors.Is(err, unix.ENOENT) || errors.Is(err, errUnknown) && !v.linked(where) {
		return where, nil
	}
	return target, err
}

// linked reports whether a component of p may be a symbolic link that is not known yet.
func (v *View) linked(p string) bool {
	for i, t := range v.Targets {
		m := v.Spec.Mounts[i]
		if p != t && sys.Under(p, t) && (m.Type == nsjail.MountSymlink || m.Writes() ||
			m.Type == nsjail.MountVolume && !InputOf(m.Source)) {
			return true
		}
	}
	return false
}

// InputOf reports whether a source is a volume's input directory, which no payload can write to.
func InputOf(source string) bool { return strings.HasSuffix(source, "/input") }

// maxLinks is the number of symbolic links that Linux follows in one lookup: path_resolution(7).
const maxLinks = 40

// Resolve returns the file at an absolute path of the jail.
func (v *View) Resolve(p string) (*File, error) {
	if v.Bad != nil {
		return nil, v.Bad
	}
	f, _, err := v.walk(p)
	return f, err
}

// walk resolves p. If a file is missing or unknown, where is its path, with the unresolved rest.
func (v *View) walk(p string) (f *File, where string, err error) {
	top := directory("/")
	f = top
	links := 0
	for left := components(p); len(left) > 0; {
		name, rest := left[0], left[1:]
		if f.Mode&unix.S_IFMT != unix.S_IFDIR {
			return nil, "", unix.ENOTDIR
		}
		switch name {
		case ".":
			left = rest
			continue
		case "..":
			f, left = directory(path.Dir(f.Path)), rest
			continue
		}
		next, err := v.look(path.Join(f.Path, name))
		if err != nil {
			return nil, path.Join(f.Path, path.Join(left...)), err
		}
		if next.link == "" {
			f, left = next, rest
			continue
		}
		if links++; links > maxLinks {
			return nil, "", unix.ELOOP
		}
		if strings.HasPrefix(next.link, "/") {
			f = top
		}
		left = slices.Concat(components(next.link), rest)
	}
	return f, f.Path, nil
}

// components splits a path. Like the kernel, it takes a trailing slash to mean a directory.
func components(p string) []string {
	list := strings.FieldsFunc(p, func(c rune) bool { return c == '/' })
	if strings.HasSuffix(p, "/") {
		list = append(list, ".")
	}
	return list
}

// look returns the file at a path whose parent is canonical. It does not follow a symbolic link.
func (v *View) look(p string) (*File, error) {
	have, ok := v.seen[p]
	if !ok {
		have.f, have.err = v.read(p)
		v.seen[p] = have
	}
	return have.f, have.err
}

func (v *View) read(p string) (*File, error) {
	bind, rel, err := v.source(p)
	fd := -1
	if err == nil {
		fd, err = v.open(bind)
	}
	if err == nil && rel != "." { // the symbolic links of a source itself are resolved already
		fd, err = sys.Openat2(fd, rel, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
		if err == nil {
			defer unix.Close(fd)
		}
	}
	if errors.Is(err, unix.ENOENT) && slices.ContainsFunc(v.Targets, func(t string) bool { return sys.Under(t, p) }) {
		return directory(p), nil // the jail creates the parent directories of a mount
	}
	var st unix.Stat_t
	if err == nil {
		err = unix.Fstat(fd, &st)
	}
	if err != nil {
		return nil, err
	}
	f := &File{Path: p, Dev: uint64(st.Dev), Ino: st.Ino, Mode: st.Mode, Bind: bind}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		buf := make([]byte, 4096)
		n, err := unix.Readlinkat(fd, "", buf) // readlink(2) of the descriptor itself
		if err != nil {
			return nil, err
		}
		f.link = string(buf[:n])
	}
	return f, nil
}

// source returns the tree of the host that contains the jail's path p: bind, the index of the mount or -1 for the root,
// and the path of p relative to that.
func (v *View) source(p string) (bind int, rel string, err error) {
	for i := len(v.Targets) - 1; i >= 0; i-- {
		if !sys.Under(p, v.Targets[i]) {
			continue
		}
		if m := v.Spec.Mounts[i]; m.Type != nsjail.MountBind || m.Writable {
			return i, "", errUnknown
		}
		return i, relative(p, v.Targets[i]), nil
	}
	below := func(dir string) bool { return sys.Under(p, dir) }
	minimal, made := v.Spec.Rootfs.Path == "", scratch
	if minimal {
		made = minScratch
	}
	switch {
	case slices.ContainsFunc(made, below):
		return -1, "", errUnknown
	case minimal && p != "/etc" && !slices.ContainsFunc(shown, below):
		return -1, "", unix.ENOENT // the minimal root contains nothing else of the host
	}
	return -1, relative(p, "/"), nil
}

// shown are the paths of the host that the minimal root contains: see lookUsr in package nsjail.
var shown = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/alternatives"}

// tree returns a mount's source, or the root for index -1. It resolves a source once, so that judge and pin use the
// same path.
func (v *View) tree(i int) *tree {
	t, ok := v.sources[i]
	if !ok {
		source, held := v.Spec.Rootfs.Path, (*spec.Held)(nil)
		if i >= 0 {
			source, held = v.Spec.Mounts[i].Source, v.Spec.Mounts[i].Held
		}
		t = &tree{path: "/", fd: -1}
		switch {
		case held != nil:
			t.path = source
			t.fd, t.err = unix.FcntlInt(held.File.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		case source != "":
			t.path, t.err = HostPath(source)
		}
		v.sources[i] = t
	}
	return t
}

// Host returns the host path of a mount's source, or of the root for index -1, with all symbolic links resolved.
func (v *View) Host(i int) (string, error) { return v.tree(i).path, v.tree(i).err }

// open opens a mount's source, or the root for -1, and keeps the descriptor.
func (v *View) open(i int) (int, error) {
	t := v.tree(i)
	if t.fd < 0 && t.err == nil {
		t.fd, t.err = unix.Open(t.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	return t.fd, t.err
}

// relative returns p relative to dir. Both must be clean.
func relative(p, dir string) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p, dir), "/"), ".")
}

// HostPath returns the absolute path of a file of the host, with all symbolic links resolved.
func HostPath(source string) (string, error) {
	abs, err := sys.Abs(source)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

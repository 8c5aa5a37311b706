package workspace

import (
	"errors"
	"slices"
	"strings"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// maxLinks is the number of symbolic links that one lookup follows: path_resolution(7).
const maxLinks = 40

// Allowed reports whether a payload could read or write the file at path, which is resolved as in the jail, through
// symbolic links and "..". /input is read-only. A missing file can be written if it can be created. Everything except
// /input, /work and /output is outside and not allowed, also as the target of a symbolic link. The answer may be
// outdated at once; it is no replacement for the jail.
//
// The kernel resolves the path with the permissions of the payload's user and with the Volume as root directory:
// openat2(2) with RESOLVE_IN_ROOT. The host never does so with its own.
func (t *Tree) Allowed(path string, write bool) (bool, error) {
	if path == "" || len(path) >= pathMax || strings.IndexByte(path, 0) >= 0 {
		return false, nil // ENOENT, ENAMETOOLONG, or not a valid path
	}
	if path[0] != '/' {
		path = "/work/" + path
	}
	if _, err := t.begin("/", parse); err != nil {
		return false, err
	}
	l := &lookup{want: unix.R_OK}
	if write {
		l.want = unix.W_OK
	}
	err := t.root(func(root int) error {
		l.root = root
		return asOwner(t.volume, func() (err error) {
			for range maxLinks + 1 {
				if path, err = l.step(path); path == "" || err != nil {
					return err
				}
			}
			return unix.ELOOP
		})
	})
	if err != nil && !denied(err) {
		return false, explain("look up", place{names: areas[1:2]}, err)
	}
	return err == nil, nil
}

// denied reports whether an error means that the kernel refuses access.
func denied(err error) bool {
	return slices.ContainsFunc([]unix.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES, unix.EPERM,
		unix.ENAMETOOLONG, unix.EXDEV},
		func(e unix.Errno) bool { return errors.Is(err, e) })
}

// lookup is a lookup in progress.
type lookup struct {
	root int    // the Volume's
	want uint32 // R_OK or W_OK
}

// open opens a path in the jail (O_PATH), through symbolic links.
func (l *lookup) open(path string, flags int) (int, error) {
	return sys.OpenInRoot(l.root, path, unix.O_PATH|flags)
}

// step returns no error if the file of a path is allowed. For a symbolic link it returns the path that it leads to.
func (l *lookup) step(path string) (next string, err error) {
	bare := strings.TrimRight(path, "/")
	n := strings.LastIndexByte(bare, '/') + 1
	parent, name := path[:n], bare[n:]
	if name == "" || name == "." || name == ".." {
		parent, name = path, "."
	}
	dir, err := l.open("./"+parent, unix.O_DIRECTORY)
	if err != nil {
		return "", err
	}
	defer unix.Close(dir)
	fd, err := openat2(dir, name, look)
	if err == unix.ENOENT && l.want == unix.W_OK && bare == path { // open(2) with O_CREAT
		return "", l.may(dir, dir, ".")
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	switch kind := st.Mode & unix.S_IFMT; {
	case kind == unix.S_IFLNK:
		if next, err = readlink(fd); !strings.HasPrefix(next, "/") {
			next = parent + next
		}
		return next + path[len(bare):], err
	case kind != unix.S_IFDIR && bare != path:
		return "", unix.ENOTDIR
	}
	return "", l.may(dir, fd, name)
}

// may checks the area and the permissions of a file: faccessat2(2), Linux 5.8. dir is its directory, in which it has a
// name; "." is the directory itself.
func (l *lookup) may(dir, fd int, name string) error {
	area, err := l.area(dir)
	if area == "" && slices.Contains(areas, name) {
		area = name // an area itself
	}
	if err == nil && (area == "" || area == "input" && l.want == unix.W_OK) {
		err = unix.EACCES
	}
	if err != nil {
		return err
	}
	return unix.Faccessat2(fd, "", l.want, unix.AT_EACCESS|unix.AT_EMPTY_PATH)
}

// area returns the area that contains a directory, or "" for the root. It goes up: the lookup has come down there.
func (l *lookup) area(dir int) (string, error) {
	var at, below, root unix.Stat_t
	if err := unix.Fstat(l.root, &root); err != nil {
		return "", err
	}
	cur, err := openat2(dir, ".", lookDir)
	defer func() { unix.Close(cur) }()
	for n := 0; err == nil && n < pathMax; n++ { // a payload may move it down meanwhile
		if err = unix.Fstat(cur, &at); err != nil || at.Ino == root.Ino {
			break
		}
		below = at
		how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
		above, uerr := sys.Openat2(cur, "..", &how)
		unix.Close(cur)
		cur, err = above, uerr
	}
	for _, area := range areas {
		if err == nil {
			err = unix.Fstatat(l.root, area, &at, unix.AT_SYMLINK_NOFOLLOW)
		}
		if err == nil && at.Ino == below.Ino {
			return area, nil
		}
	}
	return "", err
}

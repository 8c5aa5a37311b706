package workspace

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is the number of symbolic links that one lookup follows: path_resolution(7).
const maxLinks = 40

// Allowed reports whether a payload could read or write the file at path. It resolves the path as the kernel would in
// the jail: it follows symbolic links and "..", checks the mode of each directory, and treats /input as read-only. A
// missing file can be written if it can be created. Everything except /input, /work and /output is outside and not
// allowed, also as the target of a symbolic link. The answer may be outdated at once; it is no replacement for the
// jail.
//
// The kernel opens each component separately. If root opened the whole path, it would be resolved with root's
// permissions instead of the payload's.
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
	w := &walk{t: t, want: unix.R_OK, rest: path, cur: -1}
	if write {
		w.want = unix.W_OK
	}
	defer w.toRoot()
	err := t.root(func(root int) error { return unix.Fstat(root, &w.root) })
	for err == nil {
		err = w.step()
	}
	if err != errAllowed && !denied(err) {
		return false, explain("look up", place{names: areas[1:2]}, err)
	}
	return err == errAllowed, nil
}

// errAllowed ends a lookup whose answer is yes.
var errAllowed = errors.New("allowed")

// denied reports whether an error means that the kernel refuses access.
func denied(err error) bool {
	return slices.ContainsFunc([]unix.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES, unix.EPERM,
		unix.ENAMETOOLONG, unix.EXDEV},
		func(e unix.Errno) bool { return errors.Is(err, e) })
}

// walk is a lookup in progress.
type walk struct {
	t     *Tree
	want  uint32      // R_OK or W_OK
	root  unix.Stat_t // the Volume's root
	area  string      // area that contains cur; "" is the jail's root
	cur   int         // current directory, O_PATH; -1 in the jail's root
	at    unix.Stat_t // of cur
	rest  string      // unresolved part of the path
	links int
}

// toRoot makes the jail's root the current directory. Every user may search it.
func (w *walk) toRoot() {
	if w.cur >= 0 {
		unix.Close(w.cur)
	}
	w.cur, w.area = -1, ""
}

// move makes fd the current directory. If it could not be opened, it returns that err.
func (w *walk) move(area string, fd int, err error) error {
	if err != nil {
		return err
	}
	w.toRoot()
	w.cur, w.area = fd, area
	return unix.Fstat(fd, &w.at)
}

// step resolves one component of the path.
func (w *walk) step() error {
	name, rest, slash := strings.Cut(strings.TrimLeft(w.rest, "/"), "/")
	w.rest = rest
	switch {
	case w.area == "":
		return w.fromRoot(name)
	case name == "":
		return w.end(&w.at)
	case !w.may(&w.at, unix.X_OK):
		return unix.EACCES
	case name == ".":
		return nil
	case name == "..":
		return w.up()
	}
	fd, err := openat2(w.cur, name, look, 0)
	if err == unix.ENOENT && w.want == unix.W_OK && !slash { // open(2) with O_CREAT
		return w.end(&w.at)
	}
	if err != nil {
		return err
	}
	return w.enter(fd, slash)
}

// fromRoot resolves a component in the jail's root, which contains only the areas, and is no file of the sandbox.
func (w *walk) fromRoot(name string) error {
	switch {
	case name == ".", name == "..":
		return nil
	case !slices.Contains(areas, name):
		return unix.ENOENT
	}
	fd, err := w.t.openat(name, lookDir, 0)
	return w.move(name, fd, err)
}

// up lets the kernel resolve "..". This cannot lead above the Volume's root, since in the root fromRoot resolves "..".
// O_PATH does not open the file itself.
func (w *walk) up() error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
	fd, err := unix.Openat2(w.cur, "..", &how)
	if err := w.move(w.area, fd, err); err != nil {
		return err
	}
	if w.at.Dev == w.root.Dev && w.at.Ino == w.root.Ino {
		w.toRoot()
	}
	return nil
}

// enter continues at the file fd, to which a component leads.
func (w *walk) enter(fd int, slash bool) error {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return w.move(w.area, fd, nil)
	}
	defer unix.Close(fd)
	switch {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return w.follow(fd, slash)
	case slash:
		return unix.ENOTDIR
	}
	return w.end(&st)
}

// follow replaces a symbolic link by its target in the unresolved path.
func (w *walk) follow(fd int, slash bool) error {
	if w.links++; w.links > maxLinks {
		return unix.ELOOP
	}
	target, err := readlink(fd)
	if err != nil {
		return err
	}
	if slash {
		target += "/" + w.rest
	}
	w.rest = target
	if strings.HasPrefix(target, "/") {
		w.toRoot()
	}
	return nil
}

// end returns errAllowed if the last file of the path, or a new file in this directory, may be read or written.
func (w *walk) end(st *unix.Stat_t) error {
	if w.area == "input" && w.want == unix.W_OK || !w.may(st, w.want) {
		return unix.EACCES
	}
	return errAllowed
}

// may checks a file's mode for the payload's user, which has one group and no capabilities.
func (w *walk) may(st *unix.Stat_t, want uint32) bool {
	uid, gid := w.t.volume.Owner()
	bits := st.Mode
	switch {
	case int(st.Uid) == uid:
		bits >>= 6
	case int(st.Gid) == gid:
		bits >>= 3
	}
	return bits&want == want
}

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
	if err := t.begin(); err != nil {
		return false, err
	}
	if path[0] != '/' {
		path = "/work/" + path
	}
	w := &walk{write: write, rest: path, top: -1, cur: -1}
	w.uid, w.gid = t.volume.Owner()
	defer w.close()
	err := t.root(w.start)
	for err == nil && !w.done {
		err = w.step()
	}
	if err != nil && !denied(err) {
		return false, explain("look up", place{area: "work"}, err)
	}
	return err == nil && w.yes, nil
}

// denied reports whether an error means that the kernel refuses access.
func denied(err error) bool {
	return slices.ContainsFunc([]unix.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES, unix.EPERM,
		unix.ENAMETOOLONG, unix.EXDEV},
		func(e unix.Errno) bool { return errors.Is(err, e) })
}

// walk is a lookup in progress.
type walk struct {
	write    bool
	uid, gid int
	top      int // the Volume's root
	root     unix.Stat_t
	area     string // area that contains cur; "" is the jail's root
	cur      int    // current directory, O_PATH
	at       unix.Stat_t
	rest     string // unresolved part of the path
	links    int
	done     bool
	yes      bool
}

func (w *walk) close() {
	if w.cur >= 0 {
		unix.Close(w.cur)
	}
	if w.top >= 0 {
		unix.Close(w.top)
	}
}

func (w *walk) start(root int) (err error) {
	if w.top, err = openat2(root, ".", unix.O_PATH|unix.O_DIRECTORY, 0); err != nil {
		return err
	}
	if err = unix.Fstat(w.top, &w.root); err != nil {
		return err
	}
	return w.goRoot()
}

// goRoot makes the jail's root the current directory. Every user may search it.
func (w *walk) goRoot() error {
	fd, err := openat2(w.top, ".", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return w.move(fd, "")
}

// move makes fd the current directory.
func (w *walk) move(fd int, area string) error {
	if w.cur >= 0 {
		unix.Close(w.cur)
	}
	w.cur, w.area = fd, area
	return unix.Fstat(fd, &w.at)
}

// step resolves one component of the path.
func (w *walk) step() error {
	w.rest = strings.TrimLeft(w.rest, "/")
	if w.rest == "" {
		w.end(&w.at)
		return nil
	}
	name, rest, slash := strings.Cut(w.rest, "/")
	w.rest = rest
	if w.area == "" {
		return w.fromRoot(name)
	}
	if !w.may(&w.at, unix.X_OK) {
		return unix.EACCES
	}
	switch name {
	case ".":
		return nil
	case "..":
		return w.up()
	}
	fd, err := openat2(w.cur, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err == unix.ENOENT && w.write && !slash { // open(2) with O_CREAT
		w.done, w.yes = true, w.area != "input" && w.may(&w.at, unix.W_OK)
		return nil
	}
	if err != nil {
		return err
	}
	return w.enter(fd, slash)
}

// fromRoot resolves a component in the jail's root, which contains only the areas.
func (w *walk) fromRoot(name string) error {
	if name == "." || name == ".." {
		return nil
	}
	if !slices.Contains(areas, name) {
		return unix.ENOENT
	}
	fd, err := openat2(w.cur, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	return w.move(fd, name)
}

// up lets the kernel resolve "..". This cannot lead above the Volume's root, since in the root fromRoot resolves "..".
// O_PATH does not open the file itself.
func (w *walk) up() error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV}
	fd, err := unix.Openat2(w.cur, "..", &how)
	if err != nil {
		return err
	}
	area := w.area
	if err := w.move(fd, area); err != nil {
		return err
	}
	if w.at.Dev == w.root.Dev && w.at.Ino == w.root.Ino {
		w.area = ""
	}
	return nil
}

// enter continues at the file fd, to which a component leads.
func (w *walk) enter(fd int, slash bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return w.move(fd, w.area)
	case unix.S_IFLNK:
		defer unix.Close(fd)
		return w.follow(fd, slash)
	}
	unix.Close(fd)
	if slash {
		return unix.ENOTDIR
	}
	w.end(&st)
	return nil
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
		w.rest = target + "/" + w.rest
	} else {
		w.rest = target
	}
	if strings.HasPrefix(target, "/") {
		return w.goRoot()
	}
	return nil
}

// end stores the result for the last file of the path.
func (w *walk) end(st *unix.Stat_t) {
	w.done = true
	if w.write {
		w.yes = w.area != "" && w.area != "input" && w.may(st, unix.W_OK)
	} else {
		w.yes = w.area != "" && w.may(st, unix.R_OK)
	}
}

// may checks a file's mode for the payload's user, which has one group and no capabilities.
func (w *walk) may(st *unix.Stat_t, want uint32) bool {
	bits := st.Mode
	switch {
	case int(st.Uid) == w.uid:
		bits >>= 6
	case int(st.Gid) == w.gid:
		bits >>= 3
	}
	return bits&want == want
}

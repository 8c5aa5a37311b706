package layer

import (
	"errors"

	"golang.org/x/sys/unix"

	"brig/internal/owned"
)

// whiteout removes the file that an entry .wh.NAME names from the last directory of the stack. It removes files of the
// layers below only, so that the order of the entries does not matter.
func (u *unpacker) whiteout(entry string) error {
	u.stats.Removed++
	d := u.path.top()
	if entry == opaqueName {
		return u.clear()
	}
	name := entry[len(whiteoutPrefix):]
	if name == "" || name == "." || name == ".." {
		return errors.New("a whiteout of no name")
	}
	if !u.has(d, name) {
		return u.remove(name)
	}
	return u.clearIn(name)
}

// clearIn clears a directory of the last one on the stack. A file is this layer's, and stays.
func (u *unpacker) clearIn(name string) error {
	d := u.path.top()
	fd, err := subdir(d.fd, name)
	if err == unix.ENOTDIR || err == unix.ENOENT {
		return nil
	}
	if err == nil {
		err = u.path.push(name, fd, d.depth+1)
	}
	if err == nil {
		err = errors.Join(u.clear(), u.path.close(len(u.path)-1))
	}
	return err
}

// clear removes the files of the layers below from the last directory of the stack, and from those directories in it
// that this layer has, too. Each directory is cleared once: whatever is added later is this layer's.
func (u *unpacker) clear() error {
	d := *u.path.top()
	if _, ok := u.cleared[d.inode]; ok {
		return nil
	}
	u.cleared[d.inode] = struct{}{}
	u.path.top().dirty = true
	names, err := owned.Names(d.fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		clear := u.clearIn
		if !u.has(&d, name) {
			clear = func(name string) error { return owned.Remove(d.fd, name) }
		}
		if err := clear(name); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a name from the last directory of the stack. Directories on the stack may go with it, if a symbolic
// link led there; so the next entry opens them again.
func (u *unpacker) remove(name string) error {
	u.stale = true
	u.path.top().dirty = true
	return owned.Remove(u.path.top().fd, name)
}

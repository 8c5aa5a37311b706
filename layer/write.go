package layer

import (
	"archive/tar"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
	"brig/internal/words"
)

// write makes the file, directory or link of an entry in the last directory of the stack. It replaces a file with the
// same name. path is the entry's name without slashes at the ends.
func (u *unpacker) write(h *tar.Header, path, name string) error {
	switch h.Typeflag {
	case tar.TypeDir:
		return u.makeDirectory(h, name)
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return u.regular(h, name)
	case tar.TypeSymlink:
		return u.symlink(h, name)
	case tar.TypeLink:
		return u.link(h, path, name)
	}
	kinds := map[byte]Kind{tar.TypeChar: Device, tar.TypeBlock: Device, tar.TypeFifo: FIFO, 's': Socket} // of star(1)
	return u.leaveOut(cmp.Or(kinds[h.Typeflag], Unknown), h, path, name)
}

// leaveOut removes what the entry would have replaced.
func (u *unpacker) leaveOut(kind Kind, h *tar.Header, path, name string) error {
	u.left[maphash.String(u.seed, path)] = struct{}{}
	u.stats.leave(kind, h.Name)
	u.note(name)
	return u.remove(name)
}

// makeDirectory makes a directory, or uses an existing one.
func (u *unpacker) makeDirectory(h *tar.Header, name string) error {
	parent := u.path.top().fd
	fd, err := u.mkdir(name)
	old := err == unix.EEXIST
	if old {
		fd, err = subdir(parent, name)
		if err == unix.ENOTDIR {
			if err = u.remove(name); err == nil {
				fd, err = u.mkdir(name)
			}
		}
	}
	if err != nil {
		return err
	}
	u.note(name)
	if err := u.path.push(name, fd, u.path.top().depth+1); err != nil {
		return err
	}
	if old {
		if err := strip(fd); err != nil {
			return err
		}
	}
	return u.directory(h)
}

// directory sets the attributes of the last directory of the stack to those of its entry.
func (u *unpacker) directory(h *tar.Header) error {
	d := u.path.top()
	d.time, d.dirty = timespec(h.ModTime), true
	if err := u.attributes(h, d.fd); err != nil {
		return err
	}
	return unix.Fchmod(d.fd, u.mode(h)&0o1777|0o700)
}

// mode returns the mode of an entry, and counts the bits that are dropped.
func (u *unpacker) mode(h *tar.Header) uint32 {
	if h.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		u.stats.leave(SetID, h.Name)
	}
	return uint32(h.Mode & 0o1777)
}

// create calls make, which makes name. If the name exists, create removes it and calls make again.
func (u *unpacker) create(name string, make func(dir int) error) error {
	d := u.path.top()
	d.dirty = true
	err := make(d.fd)
	if err == unix.EEXIST {
		if err = u.remove(name); err == nil {
			err = make(d.fd)
		}
	}
	if err == nil {
		u.note(name)
	}
	return err
}

// symlink keeps the text of a symbolic link: symlinkat(2).
func (u *unpacker) symlink(h *tar.Header, name string) error {
	if h.Linkname == "" {
		return errors.New("a symbolic link without a text")
	}
	if err := u.create(name, func(dir int) error { return unix.Symlinkat(h.Linkname, dir, name) }); err != nil {
		return fmt.Errorf("make a symbolic link: %w", err)
	}
	return setTime(u.path.top().fd, name, timespec(h.ModTime), unix.AT_SYMLINK_NOFOLLOW)
}

// link makes a hard link: linkat(2) without AT_SYMLINK_FOLLOW.
func (u *unpacker) link(h *tar.Header, path, name string) error {
	to, err := split(h.Linkname)
	if err != nil {
		return fmt.Errorf("a hard link to %s", err)
	}
	target := strings.Join(to, "/")
	if target == path {
		return nil // it is its own only name, or missing
	}
	if _, ok := u.left[maphash.String(u.seed, target)]; ok {
		return u.leaveOut(Device, h, path, name)
	}
	if len(to) == 0 {
		return errors.New("a hard link to a directory")
	}
	above, last := strings.Join(to[:len(to)-1], "/"), to[len(to)-1]
	dir, err := sys.OpenInRoot(u.path[0].fd, "./"+above, unix.O_PATH|unix.O_DIRECTORY)
	var st unix.Stat_t
	if err == nil {
		defer unix.Close(dir)
		err = unix.Fstatat(dir, last, &st, unix.AT_SYMLINK_NOFOLLOW)
	}
	if err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return errors.New("a hard link to a directory")
	}
	if err == nil {
		err = u.create(name, func(at int) error { return unix.Linkat(dir, last, at, name, 0) })
	}
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP:
		return fmt.Errorf("a hard link to %s, which is not there", words.Quote(target))
	}
	return err
}

// setTime is utimensat(2), AT_EMPTY_PATH since Linux 5.8. The time of access is set to the same:
// a layer has none, and different ones would make trees differ.
func setTime(fd int, name string, t unix.Timespec, flags int) error {
	return os.NewSyscallError("utimensat", unix.UtimesNanoAt(fd, name, []unix.Timespec{t, t}, flags))
}

func timespec(t time.Time) unix.Timespec {
	return unix.Timespec{Sec: t.Unix(), Nsec: int64(t.Nanosecond())}
}

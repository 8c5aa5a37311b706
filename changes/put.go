package changes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// temp returns the temporary name of a change: of the new content, and then of the old file that it has replaced.
func (a *applier) temp(f *File) string { return ".brig-" + a.token + "-" + strconv.Itoa(f.index) }

// errTaken means that another process has made a file with a temporary name of this Apply.
var errTaken = errors.New("somebody has taken its temporary name; brig apply continues with another one")

// put makes a file or symbolic link under a temporary name and renames it to its own.
func (a *applier) put(t *task, dir int, name string) (err error) {
	temp := a.temp(t.file)
	a.reached("write " + name)
	if t.file.New.Kind == Symlink {
		err = a.link(t, dir, temp)
	} else {
		err = a.write(t, dir, temp)
	}
	if err == unix.EEXIST {
		return errTaken
	}
	if err != nil {
		return discard(dir, temp, err)
	}
	a.reached("written " + name)
	return a.rename(t, dir, name)
}

// discard removes a temporary file, if it is there, because of an error or after none.
func discard(dir int, temp string, err error) error {
	if gone := unix.Unlinkat(dir, temp, 0); gone != unix.ENOENT {
		return errors.Join(err, gone)
	}
	return err
}

// link makes a symbolic link.
func (a *applier) link(t *task, dir int, temp string) error {
	if err := unix.Symlinkat(string(t.file.New.Target), dir, temp); err != nil {
		return err
	}
	a.reached("linked " + temp)
	fd, err := open(dir, temp, look)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || kindOf(st.Mode) != Symlink { // another file's owner stays
		return errors.Join(err, errMoved)
	}
	return a.own(fd, dir, t.now)
}

// write writes the content, attributes, owner and mode of a regular file, whose digest must be right.
func (a *applier) write(t *task, dir int, temp string) error {
	from, err := a.layer.reader(t.file)
	if err != nil {
		return err
	}
	fd, err := open(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), temp)
	defer f.Close()
	written := newSum()
	a.reached("content " + temp)
	if _, err := io.Copy(io.MultiWriter(f, written), from); err != nil {
		return err
	}
	if written.digest() != t.file.New.SHA256 {
		return errors.New("the layer has another content than the list of files")
	}
	if err = a.own(fd, dir, t.now); err == nil {
		err = a.setAttributes(fd, t.file.New)
	}
	if err == nil && kindIs(t.now, Regular) {
		_, name := split(string(t.file.Path))
		err = keepACL(fd, dir, name)
	}
	if err == nil {
		err = unix.Fchmod(fd, t.file.New.Mode)
	}
	if err != nil {
		return err
	}
	return f.Close() // file systems on a network report a full disk here
}

// rename moves the new content of a change, if there is any, to its name, and removes the old file, if the plan has
// seen one. If that is another file by now, it gets its name back.
func (a *applier) rename(t *task, dir int, name string) error {
	temp, puts := a.temp(t.file), kindIs(t.file.New, Regular, Symlink)
	from, to, flags := temp, name, uint(unix.RENAME_NOREPLACE)
	if !puts {
		from, to = name, temp
	} else if t.now != nil {
		flags = unix.RENAME_EXCHANGE
	}
	err := unix.Renameat2(dir, from, dir, to, flags)
	switch {
	case err == unix.EINVAL || err == unix.ENOSYS: // the file system has no flags
		return discard(dir, temp, renamePlainly(t.now, puts, dir, temp, name))
	case err == unix.EEXIST && !puts:
		return errTaken
	case err == unix.EEXIST || err == unix.ENOENT:
		return discard(dir, temp, errMoved)
	case err != nil:
		return discard(dir, temp, err)
	}
	a.reached("renamed " + name)
	if t.now == nil {
		return nil
	}
	st, err := stat(dir, temp)
	if err == nil && same(st, t.now.stat) {
		return unix.Unlinkat(dir, temp, 0)
	}
	err = errors.Join(err, errMoved)
	if back := unix.Renameat2(dir, to, dir, from, flags); back != nil || !puts {
		return errors.Join(err, back)
	}
	return discard(dir, temp, err)
}

// renamePlainly is rename for a file system without the flags of renameat2(2). A change by the host between the
// comparison and the rename is lost.
func renamePlainly(old *State, puts bool, dir int, temp, name string) error {
	if old == nil {
		return unix.Linkat(dir, temp, dir, name, 0)
	}
	if st, err := stat(dir, name); err != nil || !same(st, old.stat) {
		return errors.Join(err, errMoved)
	}
	if !puts {
		return unix.Unlinkat(dir, name, 0)
	}
	return unix.Renameat(dir, temp, dir, name)
}

// setAttributes makes a file's attributes of the namespace user those of the set.
func (a *applier) setAttributes(fd int, want *State) error {
	user, _, err := attributes(fd)
	if err != nil {
		return err
	}
	have := &State{XAttrs: user}
	for _, x := range have.only(want) {
		if err := unix.Fremovexattr(fd, "user."+string(x.Name)); err != nil {
			return err
		}
	}
	for _, x := range want.only(have) {
		err := unix.Fsetxattr(fd, "user."+string(x.Name), x.Value, 0)
		if err == unix.ENOTSUP && a.options.Force {
			continue
		}
		if err != nil {
			return fmt.Errorf("extended attribute %s: %w; --force leaves out what the file system cannot hold",
				GitQuote("user."+string(x.Name)), err)
		}
	}
	return nil
}

// keepACL copies the access control list (acl(5)) of the file that is replaced. Without it, the group would get the
// permissions of the list's mask.
func keepACL(fd, dir int, name string) error {
	const acl = "system.posix_acl_access"
	old, err := open(dir, name, read)
	if err == unix.EACCES || err == unix.ENOENT {
		return nil // root alone replaces what it cannot read
	}
	if err != nil {
		return err
	}
	defer unix.Close(old)
	value, err := sys.Xattr(old, acl)
	if err == unix.ENODATA || err == unix.ENOTSUP {
		return nil
	}
	if err != nil {
		return err
	}
	return unix.Fsetxattr(fd, acl, []byte(value), 0)
}

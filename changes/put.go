package changes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// temp returns the temporary name of a change: of the new content, and then of the old file that it has replaced.
func (a *applier) temp(f *File) string { return ".brig-" + a.token + "-" + strconv.Itoa(f.index) }

// errTaken means that another process has made a file with a temporary name of this Apply.
var errTaken = errors.New("somebody has taken its temporary name; apply it again, with another one")

// link makes a symbolic link.
func (a *applier) link(t *task, dir int, temp string) error {
	if err := unix.Symlinkat(string(t.file.New.Target), dir, temp); err != nil {
		return err
	}
	if err := a.reached("linked " + temp); err != nil {
		return err
	}
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
	if err := a.reached("content " + temp); err != nil {
		return err
	}
	if a.buf == nil {
		a.buf = make([]byte, bufferSize)
	}
	if _, err := io.CopyBuffer(io.MultiWriter(f, written), from, a.buf); err != nil {
		return err
	}
	if written.digest() != t.file.New.SHA256 {
		return errors.New("the layer has another content than the list of files")
	}
	if err = a.own(fd, dir, t.now); err == nil {
		err = a.setAttributes(fd, t.file, t.file.New.XAttrs)
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

// setAttributes makes a file's attributes of the namespace user those that are wanted. With ApplyOptions.Force what the
// file system refuses is left out, and said.
func (a *applier) setAttributes(fd int, f *File, wanted []XAttr) error {
	user, _, err := attributes(fd)
	if err != nil {
		return err
	}
	have, want := &State{XAttrs: user}, &State{XAttrs: wanted}
	check := func(name Name, err error) error {
		if err == nil {
			return nil
		}
		full := GitQuote("user." + string(name))
		if a.options.Force && err != unix.EIO {
			a.left = append(a.left, Refused{f.Path, words.Textf("extended attribute %s: %v", full, err)})
			return nil
		}
		return fmt.Errorf("extended attribute %s: %w%w", full, err,
			words.Error(forced("leaves out what the file system refuses")))
	}
	for _, x := range have.only(want) {
		if err := check(x.Name, unix.Fremovexattr(fd, "user."+string(x.Name))); err != nil {
			return err
		}
	}
	for _, x := range want.only(have) {
		if err := check(x.Name, unix.Fsetxattr(fd, "user."+string(x.Name), x.Value, 0)); err != nil {
			return err
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

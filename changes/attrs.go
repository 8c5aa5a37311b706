package changes

import (
	"fmt"
	"os"

	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// inPlace sets the attributes of a directory that stays, and its mode unless that is nil.
func (s *site) inPlace(p *place, attrs []XAttr, mode *uint32) error {
	dir, name, err := s.enter(p.file.Path)
	if err != nil {
		return err
	}
	fd, err := s.open(dir, name, string(p.file.Path), read|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if p.file.Path != itself {
		if err := s.setAttributes(fd, p.file, attrs); err != nil {
			return err
		}
	}
	if mode == nil {
		return nil
	}
	return unix.Fchmod(fd, *mode)
}

// setAttributes makes a file's attributes of the namespace user those that are wanted. With ApplyOptions.Force what the
// file system refuses is left out, and said.
func (s *site) setAttributes(fd int, f *File, wanted []XAttr) error {
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
		if s.force && err != unix.EIO {
			s.left = append(s.left, Refused{f.Path, words.Textf("extended attribute %s: %v", full, err)})
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

// own sets the owner of an open file to that of old, which it replaces, or else of the directory. Only root can give
// files away; another caller can set a group that it is in. fchownat(2) takes O_PATH.
func own(fd, dir int, old *State) error {
	var st unix.Stat_t
	if old != nil {
		st = *old.stat
	} else if err := unix.Fstat(dir, &st); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		return unix.Fchownat(fd, "", int(st.Uid), int(st.Gid), unix.AT_EMPTY_PATH)
	}
	if old == nil {
		return nil // the kernel has set the group
	}
	if err := unix.Fchownat(fd, "", -1, int(st.Gid), unix.AT_EMPTY_PATH); err != unix.EPERM {
		return err
	}
	return nil
}

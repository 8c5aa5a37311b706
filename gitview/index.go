package gitview

import (
	"errors"
	"io"
	"os"
	"path"

	"brig/internal/gitdata"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// openIndex opens the index of a git directory. git replaces it by another file, so that this one stays as it is.
func openIndex(dir *os.File) *os.File {
	fd, err := sys.OpenBeneath(int(dir.Fd()), "index", unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil // a bare repository, or one without a commit
	}
	return os.NewFile(uintptr(fd), "index")
}

// badIndex returns why the payload's version of an index must not come to the host, or "".
func (c *comparer) badIndex(upper int, name, rel string) (string, error) {
	f, done, err := open(upper, name)
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return "", errors.Join(err, done())
	}
	hash := gitdata.ObjectHash(func(name string) string {
		if !path.IsAbs(name) {
			name = path.Dir(rel) + "/" + name
		}
		return textAt(c.top, name)
	})
	links := func() []string { return gitdata.Gitlinks(textAt(c.top, rel), hash) }
	return gitdata.BadIndex(f, st.Size, hash, links), done()
}

// textAt returns the beginning of a file of the host, or "".
func textAt(dir int, name string) string {
	f, err := sys.Open(dir, name, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, func(st *unix.Stat_t) error {
		if !isRegular(st) {
			return unix.EINVAL
		}
		return nil
	})
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, gitdata.MaxIndex)) // what is read in part is not valid for git either
	return string(b)
}

// refreshed reports whether the host's index is another file than before the run with the same
// entries.
func (c *comparer) refreshed(base int, name string, now *unix.Stat_t) bool {
	var was unix.Stat_t
	if c.index == nil || sys.Control(c.index, func(fd int) error { return unix.Fstat(fd, &was) }) != nil ||
		was.Ino == now.Ino && was.Dev == now.Dev || !isRegular(&was) || was.Size > maxSame || now.Size > maxSame {
		return false
	}
	old := make([]byte, was.Size)
	if _, err := c.index.ReadAt(old, 0); err != nil {
		return false
	}
	text, err := read(base, name, maxSame)
	return err == nil && gitdata.SameIndex(old, text)
}

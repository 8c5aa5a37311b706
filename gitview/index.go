package gitview

import (
	"os"

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

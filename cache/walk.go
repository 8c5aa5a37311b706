package cache

import (
	"os"
	"time"

	"brig/internal/owned"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// The bounds of a walk. What exceeds them is a payload's work and no cache.
const (
	maxDepth   = 128
	maxEntries = 4 << 20
)

// tooMuch is the error for a cache that cannot be counted.
type tooMuch string

func (e tooMuch) Error() string { return string(e) }

// walk looks at a whole cache: it lists the units, or removes those that were not used since cut.
type walk struct {
	*evictor
	cut    int64 // 0 to list
	excess usage // what is to be removed yet
	units  []unit
	total  usage
	seen   int64
	now    time.Time
	bufs   [maxDepth + 1][]byte // by depth
}

// all visits what is in the cache.
func (w *walk) all() error {
	w.now = time.Now()
	_, _, err := w.open(w.data, ".", "", 0, false)
	return err
}

// open visits the entries of a directory. It returns how many they are, and what they are together.
func (w *walk) open(parent int, name, rel string, depth int, whole bool) (n int, sum unit, err error) {
	if depth > maxDepth {
		return 0, sum, tooMuch("directories are nested too deeply")
	}
	fd, restore, err := owned.Open(parent, name, unix.O_DIRECTORY, 0o500)
	if err != nil {
		return 0, sum, os.NewSyscallError("openat", err)
	}
	defer unix.Close(fd)
	defer func() {
		if rerr := restore(); err == nil {
			err = os.NewSyscallError("fchmod", rerr)
		}
	}()
	if w.bufs[depth] == nil {
		w.bufs[depth] = make([]byte, sys.EntriesSize)
	}
	for e, err := range sys.Entries(fd, w.bufs[depth]) {
		if err != nil {
			return n, sum, os.NewSyscallError("getdents64", err)
		}
		at := e.Name()
		if rel != "" {
			at = rel + "/" + at
		}
		u, err := w.entry(fd, e.Name(), at, depth, whole)
		if err != nil {
			return n, sum, err
		}
		n++
		sum.used = max(sum.used, u.used)
		sum.size.add(u.size)
	}
	return n, sum, nil
}

// entry visits a name. Unless it is a part of something whole, it is a unit, or has some in it.
func (w *walk) entry(dir int, name, rel string, depth int, part bool) (u unit, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return u, gone(err)
	}
	if w.seen++; w.seen > maxEntries {
		return u, tooMuch("there are too many files")
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR, unix.S_IFLNK:
	default: // no tool keeps a FIFO, and a run that is shown the directory above as its work would be refused for one
		return u, w.remove(dir, name, unit{})
	}
	isDir, isUnit := st.Mode&unix.S_IFMT == unix.S_IFDIR, !part
	links := int64(1)
	if !isDir {
		links = max(1, int64(st.Nlink)) // each name of a file counts a part of it
	}
	u = unit{size: usage{st.Blocks * 512 / links, 1}}
	if w.cut == 0 {
		w.total.add(u.size)
	}
	if isDir {
		whole := part || w.tool.whole(rel)
		n, sum, err := w.open(dir, name, rel, depth+1, whole)
		if err != nil {
			return u, err
		}
		u.used = sum.used
		u.size.add(sum.size)
		isUnit = isUnit && (whole || n == 0)
		if n > 0 {
			return u, w.found(dir, name, u, isUnit)
		}
	}
	u.used = usedAt(&st, w.now)
	return u, w.found(dir, name, u, isUnit)
}

// found lists a unit, or removes it if it is among the oldest.
func (w *walk) found(dir int, name string, u unit, isUnit bool) error {
	switch {
	case !isUnit:
	case w.cut == 0:
		w.units = append(w.units, u)
	case u.used <= w.cut && (w.excess.Bytes > 0 || w.excess.Files > 0):
		if err := w.remove(dir, name, u); err != nil {
			return err
		}
		w.excess = w.excess.less(u.size)
	}
	return nil
}

// gone returns nil for a name that has been removed, and otherwise the error.
func gone(err error) error {
	if err == unix.ENOENT {
		return nil
	}
	return os.NewSyscallError("fstatat", err)
}

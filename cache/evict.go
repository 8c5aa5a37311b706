package cache

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"
	"time"

	"brig/internal/owned"

	"golang.org/x/sys/unix"
)

// usage is how much there is of something.
type usage struct{ Bytes, Files int64 }

func (u *usage) add(more usage) { u.Bytes, u.Files = u.Bytes+more.Bytes, u.Files+more.Files }

func (u *usage) less(more usage) usage { return usage{u.Bytes - more.Bytes, u.Files - more.Files} }

// within reports whether neither figure is above a bound.
func (u usage) within(most usage) bool { return u.Bytes <= most.Bytes && u.Files <= most.Files }

// removed is what an eviction has removed.
type removed struct {
	Bytes int64 `json:"bytes"`
	Files int64 `json:"files"`
	All   bool  `json:"all,omitempty"` // the cache could not be counted
}

// maxFiles bounds the files of a cache after a run.
const maxFiles = 1 << 20

// evictor removes the files that were not used for longest from a cache that no run uses. It opens each by a descriptor
// of its directory, and follows no link.
type evictor struct {
	tool  *Tool
	dir   int // of the cache: what is removed goes to trashDir first
	data  int
	most  usage
	gone  removed
	trash int
	last  int // the number of what was moved to the trash
}

// rounds bounds the attempts: a directory becomes empty, and is removed, in the round after its files.
const rounds = 8

// run removes until the cache is within its bounds, and returns what is left.
func (e *evictor) run() (left usage, err error) {
	if err := owned.Remove(e.dir, trashDir); err != nil { // of a brig that was killed
		return left, os.NewSyscallError("remove "+trashDir, err)
	}
	for range rounds {
		w := &walk{evictor: e}
		if err = w.all(); err != nil {
			break
		}
		if left = w.total; left.within(e.most) {
			return left, nil
		}
		if err = e.evict(w.units, left); err != nil {
			break
		}
	}
	if _, much := errors.AsType[tooMuch](err); err != nil && !much {
		return left, err
	}
	e.gone.All = true
	return usage{}, e.clear()
}

// unit is what is removed as a whole.
type unit struct {
	used int64 // when it was last, in nanoseconds of Unix time
	size usage
}

// evict removes the units that were not used for longest.
func (e *evictor) evict(units []unit, left usage) error {
	slices.SortFunc(units, func(a, b unit) int { return cmp.Compare(a.used, b.used) })
	w := &walk{evictor: e, excess: left.less(e.most)}
	for _, u := range units {
		if left.within(e.most) {
			break
		}
		left, w.cut = left.less(u.size), u.used
	}
	if err := e.openTrash(); err != nil {
		return err
	}
	err := errors.Join(w.all(), unix.Close(e.trash))
	return errors.Join(err, owned.Remove(e.dir, trashDir))
}

func (e *evictor) openTrash() (err error) {
	if err := unix.Mkdirat(e.dir, trashDir, 0o700); err != nil && err != unix.EEXIST {
		return os.NewSyscallError("mkdirat", err)
	}
	e.trash, err = unix.Openat(e.dir, trashDir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	return os.NewSyscallError("openat", err)
}

// remove removes a name of a directory of the cache. A directory first becomes a part of the trash, so that a tool sees
// either all of it or nothing, also if brig is killed meanwhile.
func (e *evictor) remove(parent int, name string, u unit) error {
	restore, err := owned.Lend(parent, 0o700)
	if err != nil {
		return os.NewSyscallError("chmod", err)
	}
	err = unix.Unlinkat(parent, name, 0)
	if err == unix.EISDIR {
		err = e.discard(parent, name)
	}
	if err = errors.Join(os.NewSyscallError("unlinkat", err), restore()); err == nil {
		e.gone.Bytes, e.gone.Files = e.gone.Bytes+u.size.Bytes, e.gone.Files+u.size.Files
	}
	return err
}

// discard moves a directory to the trash and removes it there. It must be writable for its "..": rename(2).
func (e *evictor) discard(parent int, name string) error {
	fd, _, err := owned.Open(parent, name, unix.O_DIRECTORY, 0o700)
	if err != nil {
		return err
	}
	_, err = owned.Lend(fd, 0o700)
	if err = errors.Join(err, unix.Close(fd)); err != nil {
		return err
	}
	e.last++
	to := strconv.Itoa(e.last)
	if err := unix.Renameat2(parent, name, e.trash, to, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	return owned.Remove(e.trash, to)
}

// clear removes all that is in the cache.
func (e *evictor) clear() error {
	names, err := owned.Names(e.data)
	if err != nil {
		return os.NewSyscallError("getdents64", err)
	}
	if err := e.openTrash(); err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		errs = append(errs, e.remove(e.data, name, unit{}))
	}
	return errors.Join(append(errs, unix.Close(e.trash), owned.Remove(e.dir, trashDir))...)
}

// usedAt returns when a file was last used: when it was read, as far as the file system notes that (mount(8),
// relatime), or when its inode was changed, which a payload cannot set. It can set the other times, to any time.
func usedAt(st *unix.Stat_t, now time.Time) int64 {
	read := st.Atim.Nano()
	if read > now.UnixNano() {
		read = 0
	}
	return max(read, st.Ctim.Nano())
}

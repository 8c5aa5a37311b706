package run

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"brig/internal/store"
	"brig/nsjail/internal/disk"

	"golang.org/x/sys/unix"
)

// Store is a directory on disk for the changes of one cow mount. It has the directories "upper" and "work" of an
// overlay. The keeper holds a lock on it (flock(2)), which ends with the keeper: an unlocked one is an orphan.
type Store struct {
	Path   string
	Dir    *os.File   // open and locked
	Target string     // where the payload sees the mount
	Most   disk.Usage // what the changes may take
	places *store.Dir // the directory of all stores
	floor  uint64     // Low reports whether less is available, in blocks
}

// NewStore makes a store below a directory, which it makes too if it does not exist, and removes the orphans there. uid
// and gid are the host ids of the payload, mode is that of the upper directory.
func NewStore(below string, uid, gid int, mode uint32) (*Store, error) {
	if err := store.Make(below, store.ParentMode()); err != nil {
		return nil, err
	}
	places, err := openStores(below)
	if err != nil {
		return nil, err
	}
	s := &Store{places: places}
	name, dir, err := places.Draft(names())
	if err == nil {
		s.Path, s.Dir = filepath.Join(below, name), dir
		err = s.fill(uid, gid, mode)
	}
	if err == nil {
		_, _, err = places.Sweep(orphan)
	}
	if err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

func openStores(below string) (*store.Dir, error) {
	return store.Open(below, unix.O_NOFOLLOW, store.Writing)
}

// names returns the pid of this process and the numbers after it: a process has several stores, and a pid comes again.
func names() func() string {
	n := os.Getpid() - 1
	return func() string { n++; return strconv.Itoa(n) }
}

// fill makes the two directories. It returns an error if the file system has no extended attributes of users, without
// which an overlay in a user namespace cannot mark a directory as opaque.
func (s *Store) fill(uid, gid int, mode uint32) (err error) {
	dir := int(s.Dir.Fd())
	for _, d := range []struct {
		name string
		mode uint32
	}{{"upper", mode}, {"work", 0o700}} {
		if err := unix.Mkdirat(dir, d.name, 0o700); err != nil {
			return os.NewSyscallError("mkdirat", err)
		}
		if err := unix.Fchmodat(dir, d.name, d.mode, 0); err != nil { // whatever the umask
			return os.NewSyscallError("fchmodat", err)
		}
	}
	if err = unix.Fsetxattr(dir, "user.brig", []byte("y"), 0); err != nil {
		return fmt.Errorf("its file system has no extended attributes of users: %w", err)
	}
	for _, name := range []string{"upper", "work", ""} {
		if err = unix.Fchownat(dir, name, uid, gid, unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return os.NewSyscallError("fchownat", err)
		}
	}
	var fs unix.Statfs_t
	err = unix.Fstatfs(dir, &fs)
	s.floor = min(fs.Bavail/2, fs.Blocks/20)
	return os.NewSyscallError("fstatfs", err)
}

// Remove removes the store with everything in it.
func (s *Store) Remove() error {
	var err error
	if s.Path != "" {
		err = s.places.Drop(filepath.Base(s.Path))
	}
	if s.Dir != nil {
		err = errors.Join(err, s.Dir.Close())
	}
	return errors.Join(err, s.places.Close())
}

// keptPrefix begins the name of a store that stays until somebody removes it.
const keptPrefix = "kept-"

// Keep renames the store, so that it stays, and returns its new path.
func (s *Store) Keep() (path string, err error) {
	name := filepath.Base(s.Path)
	to := keptPrefix + name
	for n := 2; ; n++ {
		err = s.places.Move(name, to)
		if !errors.Is(err, unix.EEXIST) {
			return filepath.Join(filepath.Dir(s.Path), to), errors.Join(err, s.Dir.Close(), s.places.Close())
		}
		to = fmt.Sprintf("%s%s-%d", keptPrefix, name, n)
	}
}

// orphan reports whether a name may be that of a store whose keeper is dead.
func orphan(name string) bool { return !kept(name) }

// SweepStores removes the orphans below a directory. busy is the number of stores that living keepers have.
func SweepStores(below string) (removed []string, busy int, err error) {
	places, err := openStores(below)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer places.Close()
	removed, busy, err = places.Sweep(orphan)
	for i, name := range removed {
		removed[i] = filepath.Join(below, name)
	}
	return removed, busy, err
}

// Bounded reports whether the changes have a bound besides that of their file system.
func (s *Store) Bounded() bool { return s.Most.Bytes < math.MaxInt64 }

// Measure counts the files in the upper directory until it has found more than Most. The payload may change them
// meanwhile.
func (s *Store) Measure() (disk.Usage, error) {
	return disk.Count(int(s.Dir.Fd()), "upper", s.Most)
}

// Low reports whether the file system of the store is almost full, by this jail or by others.
func (s *Store) Low() bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(int(s.Dir.Fd()), &fs) == nil && fs.Bavail < s.floor
}

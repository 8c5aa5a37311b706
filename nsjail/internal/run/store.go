package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"brig/internal/owned"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// Store is a directory on disk for the changes of one cow mount. It has the directories "upper" and "work" of an
// overlay. The keeper holds a lock on it (flock(2)), which ends with the keeper: an unlocked one is an orphan.
type Store struct {
	Path   string
	Dir    *os.File // open and locked
	Target string   // where the payload sees the mount
	Most   Usage    // what the changes may take
	places *os.File // the directory of all stores
	floor  uint64   // Low reports whether less is available, in blocks
}

// NewStore makes a store below a directory, which it makes too if it does not exist, and removes the orphans there. uid
// and gid are the host ids of the payload, mode is that of the upper directory.
func NewStore(below string, uid, gid int, mode uint32) (*Store, error) {
	places, err := openStores(below)
	if err != nil {
		return nil, err
	}
	s := &Store{places: places}
	if err = s.make(below); err == nil {
		err = s.fill(uid, gid, mode)
	}
	if err == nil {
		_, _, err = sweep(places, below)
	}
	if err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

func openStores(below string) (*os.File, error) {
	if err := sys.MakeStore(below, sys.StoreMode()); err != nil {
		return nil, err
	}
	return os.OpenFile(below, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// make makes and locks the directory, while the lock on the directory of all stores keeps others from taking it for an
// orphan.
func (s *Store) make(below string) error {
	if err := lock(s.places, unix.LOCK_EX); err != nil {
		return err
	}
	defer lock(s.places, unix.LOCK_UN) //nolint:errcheck // it cannot fail
	at := int(s.places.Fd())
	for n := os.Getpid(); ; n++ { // a process has several, and a pid comes again
		name := strconv.Itoa(n)
		err := unix.Mkdirat(at, name, 0o700)
		if err == unix.EEXIST {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "mkdir", Path: filepath.Join(below, name), Err: err}
		}
		s.Path = filepath.Join(below, name)
		if s.Dir, err = openDir(at, name, s.Path); err != nil {
			return err
		}
		return lock(s.Dir, unix.LOCK_EX|unix.LOCK_NB)
	}
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
		err = owned.Remove(int(s.places.Fd()), filepath.Base(s.Path))
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
	path = filepath.Join(filepath.Dir(s.Path), keptPrefix+name)
	for n := 2; ; n++ {
		at := int(s.places.Fd())
		err = unix.Renameat2(at, name, at, filepath.Base(path), unix.RENAME_NOREPLACE)
		if err != unix.EEXIST {
			return path, errors.Join(os.NewSyscallError("renameat2", err), s.Dir.Close(), s.places.Close())
		}
		path = filepath.Join(filepath.Dir(s.Path), fmt.Sprintf("%s%s-%d", keptPrefix, name, n))
	}
}

// SweepStores removes the orphans below a directory. busy is the number of stores that living keepers have.
func SweepStores(below string) (removed []string, busy int, err error) {
	places, err := os.OpenFile(below, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer places.Close()
	return sweep(places, below)
}

func sweep(places *os.File, below string) (removed []string, busy int, err error) {
	orphans, busy, err := findOrphans(places)
	for name, f := range orphans {
		if rerr := owned.Remove(int(places.Fd()), name); rerr != nil {
			err = errors.Join(err, &os.PathError{Op: "remove", Path: filepath.Join(below, name), Err: rerr})
		} else {
			removed = append(removed, filepath.Join(below, name))
		}
		f.Close()
	}
	return removed, busy, err
}

// findOrphans locks the stores that no process has locked.
func findOrphans(places *os.File) (orphans map[string]*os.File, busy int, err error) {
	orphans = map[string]*os.File{}
	if err := lock(places, unix.LOCK_EX); err != nil {
		return nil, 0, err
	}
	defer lock(places, unix.LOCK_UN) //nolint:errcheck // it cannot fail
	names, err := owned.Names(int(places.Fd()))
	for _, name := range names {
		if strings.HasPrefix(name, keptPrefix) {
			continue
		}
		f, oerr := openDir(int(places.Fd()), name, name)
		switch {
		case errors.Is(oerr, unix.ENOENT), errors.Is(oerr, unix.ENOTDIR): // it has ended meanwhile, or is no store
		case oerr != nil:
			err = errors.Join(err, oerr)
		case lock(f, unix.LOCK_EX|unix.LOCK_NB) != nil:
			busy++
			f.Close()
		case !isAt(f, places, name): // its keeper has removed it, and the next store may get its name
			f.Close()
		default:
			orphans[name] = f
		}
	}
	return orphans, busy, err
}

// isAt reports whether a file still has its name in a directory.
func isAt(f, dir *os.File, name string) bool {
	var st, now unix.Stat_t
	err := errors.Join(unix.Fstat(int(f.Fd()), &st), unix.Fstatat(int(dir.Fd()), name, &now, unix.AT_SYMLINK_NOFOLLOW))
	return err == nil && st.Dev == now.Dev && st.Ino == now.Ino
}

func openDir(at int, name, path string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func lock(f *os.File, how int) error {
	return os.NewSyscallError("flock", sys.Flock(f, how))
}

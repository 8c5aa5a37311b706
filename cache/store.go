package cache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"brig/internal/store"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// DefaultSize is the size of a cache after a run.
const DefaultSize = spec.Bytes(4 << 30)

// The entries of a cache's directory.
const (
	dataDir   = "data"       // what the jail is shown
	trashDir  = "trash"      // what is being removed
	aboutFile = "about.json" // see about
	draftFile = "about.new"
)

// rootsOwner owns the files that root's payloads write: the user nobody. An idmapped mount shows them to a payload as
// its own (mount_setattr(2)).
const rootsOwner = 65534

// Store is the directory of the caller's caches.
type Store struct{ dir *store.Dir }

// DefaultDir returns the directory of the caller's caches, in store.StateDir.
func DefaultDir() (string, error) {
	if dir := store.StateDir(); dir != "" {
		return filepath.Join(dir, "caches"), nil
	}
	return "", errors.New("there is no place for caches; set XDG_STATE_HOME or HOME to an absolute path")
}

// Open opens the store, and makes it if it is missing. Only the caller may own it, and be able to write to it.
func Open() (*Store, error) {
	dir, err := DefaultDir()
	if err == nil {
		err = store.Make(dir, 0o700)
	}
	if err != nil {
		return nil, err
	}
	return open(dir)
}

// open opens a store that exists.
func open(path string) (*Store, error) {
	d, err := store.Open(path, unix.O_NOFOLLOW, store.Writing)
	if err != nil {
		return nil, err
	}
	return &Store{d}, nil
}

// Close closes the store. Its caches stay usable.
func (s *Store) Close() error { return s.dir.Close() }

// maxRounds bounds how often Use begins again.
const maxRounds = 100

// Use makes a cache ready for a jail, and keeps others from removing anything of it until Release. Other runs may use
// it at the same time. size is what it may hold after a run.
func (s *Store) Use(t Tool, k Key, size spec.Bytes) (*Cache, error) {
	if err := CheckLabel(k.Label); err != nil {
		return nil, err
	}
	c := &Cache{Tool: t, Key: k, Path: filepath.Join(s.dir.Path(), dirName(t, k)), size: int64(size)}
	for round := 0; ; round++ {
		err := c.take(s)
		if err == nil {
			return c, nil
		}
		err = errors.Join(err, c.close())
		// It may be removed before it is locked. If it is so each time, the store itself is gone.
		if round == maxRounds || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// Look returns the mount of a cache that Use would return, and changes nothing. Where there is no such cache, it holds
// the directory in which that would be made.
func Look(t Tool, k Key, size spec.Bytes) (spec.Mount, error) {
	dir, err := DefaultDir()
	if err != nil {
		return spec.Mount{}, err
	}
	c := &Cache{Tool: t, Key: k, Path: filepath.Join(dir, dirName(t, k)), size: int64(size)}
	for at := c.dataPath(); ; at = filepath.Dir(at) {
		fd, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			c.data = os.NewFile(uintptr(fd), c.dataPath())
			return c.Mount(), nil
		}
		if !errors.Is(err, unix.ENOENT) {
			return spec.Mount{}, &os.PathError{Op: "open", Path: at, Err: err}
		}
	}
}

// ownerOfData returns who owns what payloads write.
func ownerOfData() int {
	if os.Geteuid() == 0 {
		return rootsOwner
	}
	return os.Geteuid()
}

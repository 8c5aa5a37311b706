package cache

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"brig/internal/owned"
	"brig/internal/store"
	"brig/internal/sys"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// Cache is a cache in use.
type Cache struct {
	Tool Tool
	Key  Key
	Path string // of its directory of the host

	size int64
	used int64    // bytes when it was taken
	dir  *os.File // locked: flock(2)
	data *os.File
}

// Growth is how many times its size a cache may hold while a jail uses it.
const Growth = 2

func (c *Cache) dataPath() string { return filepath.Join(c.Path, dataDir) }

// Mount returns the mount that shows the cache. A jail that makes it more than twice its size is ended.
func (c *Cache) Mount() spec.Mount {
	return spec.Mount{Type: spec.MountBind, Source: c.dataPath(), Target: c.Tool.Path, Writable: true,
		Held: &spec.Held{Name: "the cache " + c.Tool.Name, File: c.data, Internal: true, Used: spec.Bytes(c.used),
			Most: spec.Bytes(Growth * c.size)}}
}

// take makes what is missing, and locks the directory with others that use it. What the last run has left is known,
// unless brig was killed, or other runs use the cache now: it may have its size then.
func (c *Cache) take(s *Store) error {
	name := filepath.Base(c.Path)
	if err := s.dir.At(func(dir int) error { return unix.Mkdirat(dir, name, 0o700) }); err != nil && err != unix.EEXIST {
		return &os.PathError{Op: "mkdir", Path: c.Path, Err: err}
	}
	if known, err := s.about(name); err != nil || known.Bytes > c.size {
		if err := c.recount(s, name); err != nil && !errors.Is(err, store.ErrBusy) {
			return err
		}
	}
	if err := c.hold(s, name, unix.LOCK_SH); err != nil {
		return err
	}
	known, err := s.about(name)
	if c.used = known.Bytes; err != nil {
		c.used = c.size
	}
	if err := unix.Unlinkat(int(c.dir.Fd()), aboutFile, 0); err != nil && err != unix.ENOENT {
		return &os.PathError{Op: "unlink", Path: filepath.Join(c.Path, aboutFile), Err: err}
	}
	return nil
}

// recount counts a cache whose last user was killed, and removes what exceeds its size.
func (c *Cache) recount(s *Store, name string) error {
	err := c.hold(s, name, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, _, err = c.tidy()
	}
	return errors.Join(err, c.close())
}

// hold opens and locks the directory.
func (c *Cache) hold(s *Store, name string, how int) (err error) {
	if c.dir, err = s.dir.Hold(name, unix.O_DIRECTORY, how); err != nil {
		return err
	}
	var st unix.Stat_t
	if err = unix.Fstat(int(c.dir.Fd()), &st); err == nil {
		err = store.Check(&st, store.Any)
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: c.Path, Err: err}
	}
	return c.openData()
}

// openData opens what the jail is shown, with the mode that it is to have: the last payload could change it.
func (c *Cache) openData() error {
	dir := int(c.dir.Fd())
	err := unix.Mkdirat(dir, dataDir, 0o700)
	if err == nil {
		err = unix.Fchownat(dir, dataDir, ownerOfData(), ownersGroup(), unix.AT_SYMLINK_NOFOLLOW)
	}
	if err != nil && err != unix.EEXIST {
		return &os.PathError{Op: "mkdir", Path: c.dataPath(), Err: err}
	}
	fd, _, err := owned.Open(dir, dataDir, unix.O_DIRECTORY, 0o700)
	if err != nil {
		return &os.PathError{Op: "open", Path: c.dataPath(), Err: err}
	}
	c.data = os.NewFile(uintptr(fd), c.dataPath())
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&0o7777 != 0o755 {
		err = unix.Fchmod(fd, 0o755)
	}
	return os.NewSyscallError("fchmod", err)
}

func ownersGroup() int {
	if os.Geteuid() == 0 {
		return rootsOwner
	}
	return os.Getegid()
}

func (c *Cache) close() (err error) {
	for _, f := range []*os.File{c.dir, c.data} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	c.dir, c.data = nil, nil
	return err
}

// about reads what was known of a cache when it was last released.
func (s *Store) about(name string) (a about, err error) {
	f, err := s.dir.Open(name+"/"+aboutFile, unix.O_RDONLY)
	if err != nil {
		return a, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err == nil && a.Bytes < 0 {
		err = errors.New("it holds less than nothing")
	}
	return a, errors.Join(err, f.Close())
}

// write writes about.json. It may be lost: the cache is counted again then.
func (c *Cache) write(a about) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	dir := int(c.dir.Fd())
	fd, err := unix.Openat(dir, draftFile, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "create", Path: filepath.Join(c.Path, draftFile), Err: err}
	}
	_, err = sys.Write(fd, text)
	if err = errors.Join(err, unix.Close(fd)); err == nil {
		err = unix.Renameat(dir, draftFile, dir, aboutFile)
	}
	return os.NewSyscallError("write of "+aboutFile, err)
}

// Report is what has become of a cache after a run.
type Report struct {
	Name   string `json:"name"`
	Target string `json:"target"`
	// Shared is set if another run still uses the cache. The last one counts it.
	Shared bool  `json:"shared,omitempty"`
	Bytes  int64 `json:"bytes"`
	Files  int64 `json:"files"`
	// Removed is what was not used for longest, and had to go.
	Removed removed `json:"removed,omitzero"`
}

// Release ends the use of a cache after its jail has ended. Unless another run uses it, it removes what exceeds the
// size. A second Release does nothing.
func (c *Cache) Release() (r Report, err error) {
	r = Report{Name: c.Tool.Name, Target: c.Tool.Path}
	if c.dir == nil {
		return r, nil
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := sys.Flock(c.dir, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if r.Shared = err == unix.EWOULDBLOCK; r.Shared {
			return r, nil
		}
		return r, os.NewSyscallError("flock", err)
	}
	a, gone, err := c.tidy()
	r.Bytes, r.Files, r.Removed = a.Bytes, a.Files, gone
	return r, err
}

// tidy removes what exceeds the size, and returns what is left. The caller has the directory for itself.
func (c *Cache) tidy() (about, removed, error) {
	e := &evictor{tool: &c.Tool, dir: int(c.dir.Fd()), data: int(c.data.Fd()), most: usage{c.size, maxFiles}}
	left, err := e.run()
	a := about{c.Tool.Name, c.Key.Root, c.Key.Label, c.Key.Level, runtime.GOARCH, left.Bytes, left.Files}
	if err == nil {
		err = c.write(a)
	}
	return a, e.gone, err
}

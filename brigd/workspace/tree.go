package workspace

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Volume is a file system with the directories input, work and output, implemented by *nsjail.Volume.
type Volume interface {
	// ID returns its name for the mounts of a Spec.
	ID() string
	// Root returns a descriptor of its root directory, which no jail sees and to which the caller may write.
	Root() *os.File
	// Owner returns the payload's user and group on the host.
	Owner() (uid, gid int)
	// Close releases the Volume. It is freed when no jail has it mounted any more.
	Close() error
}

const (
	maxVisits = 4 << 20         // entries that one call may look at
	maxTime   = 1 * time.Minute // time of one call
)

// Tree reads and writes the files of a Volume while payloads use it. Its methods may be called concurrently. Paths are
// absolute paths in the jail, or relative to /work. They may contain all bytes except NUL, but no "..". An error caused
// by the path, or by the files in the Volume, is an *job.Refusal.
type Tree struct {
	volume Volume
	used   func() error // called at the start of each call that is a use, and may refuse it; may be nil
	wrote  func()       // called after each call that may have changed a file; may be nil
	visits int          // see maxVisits
	time   time.Duration

	mu     sync.Mutex
	closed bool
	files  map[*openFile]struct{} // of callers and of Put
}

// newTree returns a Tree for a Volume. The caller still has to close the Volume.
func newTree(v Volume) *Tree {
	return &Tree{volume: v, visits: maxVisits, time: maxTime, files: map[*openFile]struct{}{}}
}

// Close aborts operations in progress, and closes the files that Open has returned, which would keep the Volume's
// memory. It does not close the Volume.
func (t *Tree) Close() {
	t.mu.Lock()
	files := t.files
	t.closed, t.files = true, nil
	t.mu.Unlock()
	for f := range files {
		_ = f.File.Close() // read-only, or a temporary file
	}
}

// openFile is a file that Tree.Close closes, too.
type openFile struct {
	*os.File
	t *Tree
}

// Close closes the file.
func (f *openFile) Close() error {
	f.t.mu.Lock()
	delete(f.t.files, f)
	f.t.mu.Unlock()
	return f.File.Close()
}

// hold returns a descriptor as a file for Tree.Close. If the Tree is closed already, it closes the descriptor.
func (t *Tree) hold(fd int, name string) (*openFile, error) {
	f := &openFile{os.NewFile(uintptr(fd), name), t}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = f.File.Close()
		return nil, gone()
	}
	t.files[f] = struct{}{}
	return f, nil
}

func (t *Tree) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// begin parses a path, checks that the Tree is open, and records a use.
func (t *Tree) begin(path string, parse func(string) (place, error)) (p place, err error) {
	if p, err = parse(path); err == nil && t.isClosed() {
		err = gone()
	}
	if err == nil && t.used != nil {
		err = t.used()
	}
	return p, err
}

// changed is called after a change.
func (t *Tree) changed() {
	if t.wrote != nil {
		t.wrote()
	}
}

// check checks that a Volume has the directories of all areas.
func (t *Tree) check() error {
	for _, area := range areas {
		fd, err := t.openat(area, lookDir)
		if err != nil {
			return fmt.Errorf("sandbox: the volume has no directory %s: %w", area, err)
		}
		unix.Close(fd)
	}
	return nil
}

// Open opens a regular file for reading. A payload may write to it concurrently, so its size may differ from the
// Entry's. A sparse file may be larger than memory, so readers must limit what they read. Tree.Close closes the file if
// the caller has not.
func (t *Tree) Open(path string) (io.ReadCloser, *Entry, error) {
	p, err := t.begin(path, parseFile)
	if err != nil {
		return nil, nil, err
	}
	fd, err := t.openRegular(p)
	if err != nil {
		return nil, nil, explain("read", p, err)
	}
	e, err := entryOf(fd, p.String())
	if err != nil {
		unix.Close(fd)
		return nil, nil, explain("read", p, err)
	}
	f, err := t.hold(fd, p.String())
	if err != nil {
		return nil, nil, err
	}
	return f, e, nil
}

// openRegular opens a regular file. It checks the type before and after opening it for reading.
func (t *Tree) openRegular(p place) (int, error) {
	seen, err := t.open(p, look)
	if err != nil {
		return -1, err
	}
	err = regular(seen, p)
	unix.Close(seen)
	if err != nil {
		return -1, err
	}
	fd, err := t.open(p, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return -1, err
	}
	if err = regular(fd, p); err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// regular returns an error unless fd is a regular file.
func regular(fd int, p place) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	kind := "a device"
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return unix.EISDIR
	case unix.S_IFLNK:
		return unix.ELOOP
	case unix.S_IFIFO:
		kind = "a FIFO"
	case unix.S_IFSOCK:
		kind = "a socket"
	}
	return refuse(CodeNotRegular, "%s is %s: only regular files can be read from outside of a run", show(p.String()), kind)
}

// Usage returns how many bytes and inodes of the Volume are in use, by fstatfs(2). It does not count as a use.
func (t *Tree) Usage() (bytes, inodes int64, err error) {
	var st unix.Statfs_t
	err = t.root(func(root int) error { return unix.Fstatfs(root, &st) })
	if err != nil {
		return 0, 0, explain("measure", place{}, err)
	}
	return int64(st.Blocks-st.Bfree) * st.Bsize, int64(st.Files - st.Ffree), nil
}

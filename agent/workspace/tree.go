package workspace

import (
	"io/fs"
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
// by the path, or by the files in the Volume, is an *nsjail.Refusal.
type Tree struct {
	volume Volume
	used   func() error // called at the start of each call that is a use, and may refuse it; may be nil
	visits int          // see maxVisits
	time   time.Duration

	mu     sync.Mutex
	closed bool
	files  map[*os.File]struct{} // open files of callers and of Put
	prune  int                   // at this number of files, those that callers have closed are dropped
}

// NewTree returns a Tree for a Volume. The caller still has to close the Volume.
func NewTree(v Volume) *Tree {
	return &Tree{volume: v, visits: maxVisits, time: maxTime, files: map[*os.File]struct{}{}, prune: 64}
}

// Close aborts operations in progress, and closes the files that Open has returned, which would keep the Volume's
// memory. It does not close the Volume.
func (t *Tree) Close() {
	t.mu.Lock()
	files := t.files
	t.closed, t.files = true, nil
	t.mu.Unlock()
	for f := range files {
		_ = f.Close() // read-only, or a temporary file
	}
}

// hold registers a file for Close. If the Tree is closed already, it closes the file.
func (t *Tree) hold(f *os.File) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		_ = f.Close()
		return gone()
	}
	if len(t.files) >= t.prune {
		for old := range t.files {
			if err := control(old, func(int) error { return nil }); err != nil {
				delete(t.files, old) // the caller has closed it
			}
		}
		t.prune = max(64, 2*len(t.files))
	}
	t.files[f] = struct{}{}
	return nil
}

func (t *Tree) drop(f *os.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.files, f)
}

func (t *Tree) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// begin checks that the Tree is open, and records a use.
func (t *Tree) begin() error {
	if t.isClosed() {
		return gone()
	}
	if t.used != nil {
		return t.used()
	}
	return nil
}

// Stat describes one file of any type. It does not follow a symbolic link.
func (t *Tree) Stat(path string) (*Entry, error) {
	p, r := parse(path)
	if r != nil {
		return nil, r
	}
	if err := t.begin(); err != nil {
		return nil, err
	}
	flags := unix.O_PATH | unix.O_NOFOLLOW
	if p.slash {
		flags |= unix.O_DIRECTORY
	}
	fd, err := t.open(p, flags)
	if err != nil {
		return nil, explain("read", p, err)
	}
	defer unix.Close(fd)
	e, err := entryOf(fd, p.String())
	if err != nil {
		return nil, explain("read", p, err)
	}
	return e, nil
}

// Open opens a regular file for reading. A payload may write to it concurrently, so its size may differ from the
// Entry's. A sparse file may be larger than memory, so readers must limit what they read. Tree.Close closes the file if
// the caller has not.
func (t *Tree) Open(path string) (*os.File, *Entry, error) {
	p, r := below(path)
	if r != nil {
		return nil, nil, r
	}
	if p.slash {
		return nil, nil, refuse(CodeBadPath, "%s ends in a slash: a file is wanted", show(path))
	}
	if err := t.begin(); err != nil {
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
	f := os.NewFile(uintptr(fd), p.String())
	if err := t.hold(f); err != nil {
		return nil, nil, err
	}
	return f, e, nil
}

// openRegular opens a regular file. It checks the type before and after opening it for reading.
func (t *Tree) openRegular(p place) (int, error) {
	seen, err := t.open(p, unix.O_PATH|unix.O_NOFOLLOW)
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
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return nil
	case unix.S_IFDIR:
		return unix.EISDIR
	case unix.S_IFLNK:
		return unix.ELOOP
	}
	return refuse(CodeNotRegular, "%s is %s: only regular files can be read from outside of a run", show(p.String()),
		kindOf(st.Mode))
}

// Mkdir creates a directory with mode 0755, and its missing parents. It is not an error if the directory exists.
func (t *Tree) Mkdir(path string) error {
	p, r := parse(path)
	if r != nil {
		return r
	}
	if err := t.begin(); err != nil {
		return err
	}
	fd, err := t.makeDirs(p)
	if err != nil {
		return explain("make", p, err)
	}
	return unix.Close(fd)
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

// permissions returns the nine permission bits, without set-user-ID, set-group-ID and sticky bits.
func permissions(perm fs.FileMode) uint32 { return uint32(perm.Perm()) }

package isolate

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"brig/internal/owned"
	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// box is a box on disk: ROOT/ID with the directories box, tmp and root. While it is held, its lock file is locked.
type box struct {
	root *os.File // the directory of all boxes
	name string   // ID
	dir  string   // its path
	uid  int      // who may use it, and owns its files between runs
	gid  int
	any  bool // called by root, who may use every box
	cg   bool
	lock *os.File
}

// record is the content of a lock file.
type record struct {
	uid   int
	cg    bool
	ready bool // --init has ended
}

const recordForm = "brig-isolate 1 uid=%d cg=%t ready=%t\n"

// openBoxes opens the directory of all boxes, and makes it if it is missing. It must belong to the caller, and nobody
// else may write to it: another user could replace a box with a different directory.
func openBoxes(path string) (*os.File, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, errorf("Cannot create box_root: %w", err)
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errorf("Cannot open box_root %s: %w", words.Quote(path), err)
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return nil, errors.Join(fmt.Errorf("box_root %s (owner %d, mode %04o) must belong to you and be writable to "+
			"nobody else; chown and chmod 755 it, or set box_root in the configuration", words.Quote(path), st.Uid,
			st.Mode&0o7777), f.Close())
	}
	return f, nil
}

// take locks the box. It returns false if the box does not exist, which cannot be with create.
func (b *box) take(locks string, create, cleanup, wait bool) (bool, error) {
	if err := os.MkdirAll(locks, 0o755); err != nil {
		return false, errorf("Cannot create lock_root: %w", err)
	}
	path := filepath.Join(locks, b.name)
	flags := unix.O_RDWR | unix.O_CLOEXEC | unix.O_NOFOLLOW
	if create {
		flags |= unix.O_CREAT
	}
	fd, err := unix.Open(path, flags, 0o644)
	if err == unix.ENOENT && !create {
		return false, nil
	}
	if err != nil {
		return false, errorf("Cannot open %s: %w", words.Quote(path), err)
	}
	b.lock = os.NewFile(uintptr(fd), path)
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	if err = sys.Flock(b.lock, how); err == unix.EWOULDBLOCK {
		return false, errorf("This box is currently in use by another process")
	} else if err != nil {
		return false, errorf("Cannot lock %s: %w", words.Quote(path), err)
	}
	return b.examine(create, cleanup)
}

// examine reads the record of a box that is locked.
func (b *box) examine(create, cleanup bool) (bool, error) {
	var buf [256]byte
	n, err := b.lock.ReadAt(buf[:], 0)
	if err != nil && err != io.EOF {
		return false, errorf("Cannot read lock file: %w", err)
	}
	if n == 0 {
		if create {
			return true, b.write(false)
		}
		return false, nil // somebody is about to create it, or it was cleaned up
	}
	var r record
	if _, err = fmt.Sscanf(string(buf[:n]), recordForm, &r.uid, &r.cg, &r.ready); err != nil {
		return false, errorf("Lock file %s has incompatible format; remove it, and --init the box again",
			words.Quote(b.lock.Name()))
	}
	switch {
	case r.ready && r.uid != b.uid && !b.any:
		return false, errorf("This box belongs to a different user (uid %d)", r.uid)
	case r.cg != b.cg:
		return false, errorf("This box was initialized with an incompatible control group mode")
	case create:
		return true, b.write(false)
	case !r.ready && !cleanup:
		return false, errorf("This box was not initialized properly")
	}
	return true, nil
}

func (b *box) write(ready bool) error {
	if _, err := b.lock.WriteAt([]byte(fmt.Sprintf(recordForm, b.uid, b.cg, ready)), 0); err != nil {
		return errorf("Cannot write lock file: %w", err)
	}
	return nil
}

// make makes the box anew.
func (b *box) make() error {
	if err := b.remove(); err != nil {
		return err
	}
	at := int(b.root.Fd())
	for _, d := range []struct {
		name string
		mode uint32
	}{{b.name, 0o755}, {b.name + "/box", 0o700}, {b.name + "/tmp", 0o755}, {b.name + "/root", 0o755}} {
		if err := unix.Mkdirat(at, d.name, d.mode); err != nil {
			return errorf("Cannot create box: mkdir %s: %w", words.Quote(d.name), err)
		}
	}
	if b.any {
		if err := unix.Fchownat(at, b.name+"/box", b.uid, b.gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return errorf("Cannot chown box: %w", err)
		}
	}
	return b.write(true)
}

// remove removes the box's files, whatever a program has left there.
func (b *box) remove() error {
	if err := owned.Remove(int(b.root.Fd()), b.name); err != nil {
		return errorf("Cannot remove %s: %w", words.Quote(b.dir), err)
	}
	return nil
}

// forget ends a cleanup. A lock file is never removed: another process may have opened it already.
func (b *box) forget() error { return b.lock.Truncate(0) }

// open opens a directory of the box.
func (b *box) open(name string) (*os.File, error) {
	fd, err := sys.Openat2(int(b.root.Fd()), b.name+"/"+name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil, errorf("Cannot open directory %s: %w", words.Quote(b.dir+"/"+name), err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// temporary makes the temporary directories of a run, which stay until the box is removed.
func (b *box) temporary(names []string) error {
	tmp, err := b.open("tmp")
	if err != nil {
		return err
	}
	defer tmp.Close()
	for _, name := range names {
		if err := unix.Mkdirat(int(tmp.Fd()), name, 0o700); err != nil && err != unix.EEXIST {
			return errorf("Cannot create temporary directory %s: %w", words.Quote(name), err)
		}
	}
	return nil
}

// hand makes a uid the owner of the files of the box and of its temporary directories, unless it is negative. It also
// removes symbolic links, FIFOs and sockets, unless they are to stay.
func (b *box) hand(temps []string, uid, gid int, special bool) error {
	top, err := b.open(".")
	if err != nil {
		return err
	}
	defer top.Close()
	if err := settle(int(top.Fd()), "box", uid, gid, special); err != nil {
		return err
	}
	tmp, err := b.open("tmp")
	if err != nil {
		return err
	}
	defer tmp.Close()
	for _, name := range temps {
		if err := settle(int(tmp.Fd()), name, uid, gid, special); err != nil {
			return err
		}
	}
	return nil
}

func newBox(root *os.File, o *Options) *box {
	b := &box{root: root, name: strconv.FormatInt(o.Box, 10), uid: os.Getuid(), gid: os.Getgid(), cg: o.CG,
		any: os.Geteuid() == 0}
	b.dir = filepath.Join(root.Name(), b.name)
	if o.AsUID >= 0 {
		b.uid, b.gid = int(o.AsUID), int(o.AsGID)
	}
	return b
}

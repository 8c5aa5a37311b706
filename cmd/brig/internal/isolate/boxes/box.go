// Package boxes keeps the boxes of isolate: directories on disk that outlive a run, each with a lock and an owner.
package boxes

import (
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

// Box is a box on disk: ROOT/ID with the directories box, tmp and root. While it is held, its lock file is locked.
type Box struct {
	root *os.File // the directory of all boxes
	name string   // ID
	Dir  string   // its path
	UID  int      // who may use it, and owns its files between runs
	GID  int
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

// OpenOwn opens the directory of a setting, box_root or lock_root, and makes it if it is missing. It must belong to the
// caller, and no other user may write to it, who could replace a box or a lock.
func OpenOwn(setting, path string) (*os.File, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, errorf("Cannot create %s: %w", setting, err)
	}
	return sys.Open(unix.AT_FDCWD, path, path, unix.O_DIRECTORY, func(st *unix.Stat_t) error {
		if int(st.Uid) == os.Geteuid() && st.Mode&0o022 == 0 {
			return nil
		}
		return fmt.Errorf("%s %s (owner %d, mode %04o) must belong to you and be writable to no other user; chown and "+
			"chmod 755 it, or set %[1]s in the configuration", setting, words.Quote(path), st.Uid, st.Mode&0o7777)
	})
}

// Take locks the box. It returns false if the box does not exist, which cannot be with create.
func (b *Box) Take(locks string, create, cleanup, wait bool) (bool, error) {
	dir, err := OpenOwn("lock_root", locks)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	path := filepath.Join(locks, b.name)
	flags := unix.O_RDWR | unix.O_CLOEXEC | unix.O_NOFOLLOW
	if create {
		flags |= unix.O_CREAT
	}
	fd, err := unix.Openat(int(dir.Fd()), b.name, flags, 0o600)
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
func (b *Box) examine(create, cleanup bool) (bool, error) {
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
	case r.ready && r.uid != b.UID && !b.any:
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

func (b *Box) write(ready bool) error {
	if _, err := b.lock.WriteAt([]byte(fmt.Sprintf(recordForm, b.UID, b.cg, ready)), 0); err != nil {
		return errorf("Cannot write lock file: %w", err)
	}
	return nil
}

// Make makes the box anew.
func (b *Box) Make() error {
	if err := b.Remove(); err != nil {
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
		if err := unix.Fchownat(at, b.name+"/box", b.UID, b.GID, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return errorf("Cannot chown box: %w", err)
		}
	}
	return b.write(true)
}

// Remove removes the box's files, whatever a program has left there.
func (b *Box) Remove() error {
	if err := owned.Remove(int(b.root.Fd()), b.name); err != nil {
		return errorf("Cannot remove %s: %w", words.Quote(b.Dir), err)
	}
	return nil
}

// Forget ends a cleanup. A lock file is never removed: another process may have opened it already.
func (b *Box) Forget() error { return b.lock.Truncate(0) }

// Hand makes a uid the owner of the files of the box and of its temporary directories, unless it is negative. It also
// removes symbolic links, FIFOs and sockets, unless they are to stay.
func (b *Box) Hand(temps []string, w *Walk) error {
	tmp, err := sys.Openat2(int(b.root.Fd()), b.name+"/tmp", &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return errorf("Cannot open directory %s: %w", words.Quote(b.Dir+"/tmp"), err)
	}
	defer unix.Close(tmp)
	if err := w.settle(int(b.root.Fd()), b.name+"/box"); err != nil {
		return err
	}
	for _, name := range temps { // they stay until the box is removed
		if err := unix.Mkdirat(tmp, name, 0o700); err != nil && err != unix.EEXIST {
			return errorf("Cannot create temporary directory %s: %w", words.Quote(name), err)
		}
		if err := w.settle(tmp, name); err != nil {
			return err
		}
	}
	return nil
}

// New returns the box of a number. It belongs to the caller, or to the owner whom root names: uid is negative if not.
func New(root *os.File, id int64, cg bool, uid, gid int) *Box {
	b := &Box{root: root, name: strconv.FormatInt(id, 10), UID: os.Getuid(), GID: os.Getgid(), cg: cg,
		any: os.Geteuid() == 0}
	b.Dir = filepath.Join(root.Name(), b.name)
	if uid >= 0 {
		b.UID, b.GID = uid, gid
	}
	return b
}

// errorf returns an error in the words of isolate, which begin with a capital.
func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

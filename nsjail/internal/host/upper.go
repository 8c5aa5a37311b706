package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"brig/internal/store"
	"brig/internal/words"
	"brig/nsjail/internal/walk"
	"brig/nsjail/spec"

	"golang.org/x/sys/unix"
)

// noTmpfsUpper returns why the changes of an overlay in a user namespace cannot be kept in a tmpfs, or "". It asks a
// memfd, which is a file of a tmpfs.
func noTmpfsUpper() string {
	fd, err := unix.MemfdCreate("upper", unix.MFD_CLOEXEC)
	if err != nil {
		return "memfd_create: " + err.Error()
	}
	defer unix.Close(fd)
	if err := unix.Fsetxattr(fd, "user.brig", []byte("y"), 0); err != nil {
		return "in memory a removed directory could not be made again, because tmpfs has extended attributes of users " +
			"only since Linux 6.6 (" + err.Error() + ")"
	}
	return ""
}

// OtherStore is the remedy where StoreDir does not do.
const OtherStore = "set XDG_STATE_HOME to a directory of another file system (for root, mount one at /var/lib/brig)"

// StoreDir returns the directory for the changes of cow mounts on disk: below /var/lib/brig for root, and below
// store.StateDir for anybody else.
func StoreDir() (string, error) {
	dir := store.StateDir()
	if dir == "" {
		return "", spec.CallerError("cow", "there is no place on disk for the changes",
			"set XDG_STATE_HOME or HOME to an absolute path")
	}
	return filepath.Join(dir, "cow"), nil
}

// lookUpper finds out whether the changes of a mount can be kept where they are to be. For those on disk it adds the
// directory, which is made when the jail is.
func (h *looker) lookUpper(mount int, m spec.Mount) error {
	lower := h.Sources.Of(mount)
	if m.Store != spec.StoreDisk {
		if lower.NoUpper = noTmpfsUpper(); lower.NoUpper == "" || !m.MayUseDisk() {
			return nil
		}
		lower.NoUpper = ""
	}
	dir, err := StoreDir()
	if err != nil {
		return err
	}
	h.Sources.Put(UpperOf(mount), &Source{Path: filepath.Join(dir, "N"), Dir: true, Fd: -1, Ino: 1, UID: h.PayloadUID,
		GID: h.PayloadGID})
	at := dir // the last directory that exists
	fd, err := unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for ; errors.Is(err, unix.ENOENT); fd, err = unix.Open(at, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) {
		at = filepath.Dir(at)
	}
	if err != nil {
		return spec.CallerError("cow", words.Quote(at)+": "+err.Error(), OtherStore)
	}
	defer unix.Close(fd)
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return &os.PathError{Op: "statfs", Path: at, Err: err}
	}
	if !layers(int64(fs.Type)) || fs.Type == unix.SQUASHFS_MAGIC || fs.Type == unix.EROFS_SUPER_MAGIC_V1 {
		lower.NoUpper = fmt.Sprintf("the file system of %s, type %#x, is not known to hold the changes of an overlay",
			words.Quote(at), fs.Type)
	}
	return lower.contains(fd)
}

// contains sets NoUpper if a directory is the source or lies below it: the changes would be part of what they change.
func (s *Source) contains(dir int) error {
	fd, err := unix.Openat(dir, ".", unix.O_PATH|unix.O_CLOEXEC, 0)
	for last := (walk.ID{}); err == nil; {
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err != nil {
			break
		}
		id := walk.IDOf(&st)
		if id == (walk.ID{Dev: s.Dev, Ino: s.Ino}) {
			s.NoUpper = "it holds the directory in which brig keeps changes on disk"
		}
		if id == last { // the root
			break
		}
		last = id
		up := -1
		up, err = unix.Openat(fd, "..", unix.O_PATH|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd = up
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	return os.NewSyscallError("openat", err)
}

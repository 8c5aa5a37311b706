// Package disk counts what payloads keep on file systems of the host: how much, in which directories, and whether that
// is more than it may be.
package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"brig/internal/owned"

	"golang.org/x/sys/unix"
)

// Usage is what the files in a directory take.
type Usage struct{ Bytes, Files int64 }

// Over reports whether either figure is above a bound.
func (u Usage) Over(most Usage) bool { return u.Bytes > most.Bytes || u.Files > most.Files }

// maxDepth bounds the descriptors that a walk holds. A deeper directory counts as too much.
const maxDepth = 256

// ErrTooDeep is the error for directories that are nested too deeply to be counted. It is a constant, since the
// initialisation of a variable delays every start.
const ErrTooDeep = tooDeep("directories are nested more than 256 deep")

type tooDeep string

func (e tooDeep) Error() string { return string(e) }

// Count counts the files in a directory until it has found more than most. A payload may change them meanwhile.
func Count(at int, name string, most Usage) (u Usage, err error) {
	err = u.enter(at, name, most, 0)
	return u, err
}

func (u *Usage) add(dir int, most Usage, depth int) error {
	if depth > maxDepth {
		return ErrTooDeep
	}
	names, err := owned.Names(dir)
	if err != nil {
		return os.NewSyscallError("getdents64", err)
	}
	for _, name := range names {
		var st unix.Stat_t
		if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue // it is gone
		}
		directory, parts := st.Mode&unix.S_IFMT == unix.S_IFDIR, int64(1)
		if !directory {
			parts = max(1, int64(st.Nlink)) // each name of a file counts a part of it
		}
		u.Files++
		if u.Bytes += st.Blocks * 512 / parts; u.Over(most) {
			return nil
		}
		if directory {
			if err := u.enter(dir, name, most, depth+1); err != nil || u.Over(most) {
				return err
			}
		}
	}
	return nil
}

// enter adds what is in a directory. If its mode forbids that, it has another mode meanwhile: chmod(2) by the path in
// /proc cannot follow a link that has come into its place.
func (u *Usage) enter(at int, name string, most Usage, depth int) (err error) {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return gone(err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return os.NewSyscallError("fstat", err)
	}
	if locked := st.Mode&0o500 != 0o500 && os.Geteuid() != 0; locked {
		link, mode := "/proc/self/fd/"+strconv.Itoa(fd), st.Mode&0o7777
		if err := unix.Chmod(link, mode|0o500); err != nil {
			return os.NewSyscallError("chmod", err)
		}
		defer func() { err = errors.Join(err, os.NewSyscallError("chmod", unix.Chmod(link, mode))) }()
	}
	return u.add(fd, most, depth)
}

// gone returns nil for a name that has been removed or is no longer a directory, and otherwise the error.
func gone(err error) error {
	if err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP {
		return nil
	}
	return os.NewSyscallError("openat", err)
}

// Unlinked counts the bytes of files on overlays that processes have open and that have no name: proc(5), /proc/PID/fd.
func Unlinked(pids []int) (bytes int64) {
	seen := map[[2]uint64]bool{}
	for _, pid := range pids {
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is well-formed
		for _, l := range links {
			var st unix.Stat_t
			var fs unix.Statfs_t
			if unix.Stat(l, &st) != nil || st.Nlink != 0 || st.Mode&unix.S_IFMT != unix.S_IFREG ||
				unix.Statfs(l, &fs) != nil || fs.Type != unix.OVERLAYFS_SUPER_MAGIC {
				continue
			}
			if id := [2]uint64{st.Dev, st.Ino}; !seen[id] {
				seen[id] = true
				bytes += st.Blocks * 512
			}
		}
	}
	return bytes
}

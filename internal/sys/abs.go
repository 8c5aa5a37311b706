package sys

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Abs returns the absolute path of what the kernel finds by a path at this moment. It differs from filepath.Abs where
// that only looks at the text: ".." behind a symbolic link leads to the parent of the link's target
// (path_resolution(7)), and $PWD may name another directory than getcwd(2). What is behind the last ".." need not
// exist. Symbolic links stay in the path, but not in front of a "..".
func Abs(path string) (string, error) {
	if at := upwards(path); at > 0 {
		fd, err := Retry(func() (int, error) {
			return unix.Open(path[:at], unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		})
		if err != nil {
			return "", &os.PathError{Op: "open", Path: path[:at], Err: err}
		}
		dir, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		_ = unix.Close(fd) // O_PATH: nothing was written
		return filepath.Join(dir, path[at:]), err
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	here, err := unix.Getwd()
	if err != nil {
		return "", os.NewSyscallError("getcwd", err)
	}
	return filepath.Join(here, path), nil
}

// upwards returns the length of a path up to the last component that is "..", or 0.
func upwards(path string) int {
	for end := len(path); end >= 2; end = strings.LastIndexByte(path[:end], '/') {
		if path[:end] == ".." || strings.HasSuffix(path[:end], "/..") {
			return end
		}
	}
	return 0
}

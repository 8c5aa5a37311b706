package cgroup

import (
	"errors"
	"io/fs"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

const openDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func readFile(name string) (string, error) {
	text, err := sys.ReadFile(name)
	return string(text), err
}

func readAt(dir int, name string) (string, error) {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	return readAll(fd)
}

func readAll(fd int) (string, error) {
	text, err := sys.ReadAll(fd)
	return string(text), err
}

func putAt(dir int, name, value string) error {
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return writeAll(fd, value)
}

// writeAll writes in one call, as control files require.
func writeAll(fd int, value string) error {
	_, err := sys.Write(fd, []byte(value))
	return err
}

// removed reports whether an error means that the group is gone.
func removed(err error) bool { return errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT) }

// bare removes the path from an error whose text will name it.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

package sys

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Numbers returns the numbers in a directory of procfs, such as /proc/self/fd, in no order: getdents64(2).
func Numbers(dir string) (list []int, err error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	for buf := make([]byte, 4096); ; {
		n, err := Retry(func() (int, error) { return unix.ReadDirent(fd, buf) })
		if err != nil || n == 0 {
			return list, err
		}
		_, _, names := unix.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			if n, err := strconv.Atoi(name); err == nil && n != fd {
				list = append(list, n)
			}
		}
	}
}

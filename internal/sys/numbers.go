package sys

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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

// Children returns the child processes of a process: /proc/PID/task/TID/children, proc(5). It returns none if the
// process has ended.
func Children(pid int) (list []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is well-formed
	for _, t := range tasks {
		text, _ := os.ReadFile(t) // unreadable once the thread has ended
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

// Descendants returns the children of a process, and theirs.
func Descendants(pid int) (list []int) {
	for _, child := range Children(pid) {
		list = append(append(list, child), Descendants(child)...)
	}
	return list
}

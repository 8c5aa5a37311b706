package cgroup

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// write sets a file and reads it back, because the kernel rounds and clamps values, and accepts some without applying
// them.
func (d *directory) write(s *setting) error {
	err := error(unix.ENOENT)
	for _, name := range s.names {
		if err = d.set(name, s); err != unix.ENOENT {
			return err
		}
	}
	return err
}

func (d *directory) set(name string, s *setting) error {
	// no O_CREAT: the error for a missing file would be EACCES
	fd, err := unix.Openat(d.fd, name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err == unix.EACCES && s.check == anyValue { // some files are write-only
		fd, err = unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := writeAll(fd, s.value); err != nil || s.check == anyValue {
		return err
	}
	got, err := readBack(fd, s.check)
	if err != nil {
		return err
	}
	if s.check == sameList && d.Version == 2 { // the file itself contains the request
		if got, err = d.read(name + ".effective"); err != nil {
			return err
		}
	}
	if !agrees(got, s) {
		return fmt.Errorf("the kernel has made %s of it", quote(strings.TrimSpace(got)))
	}
	return nil
}

// agrees reports whether a file has the value that was written to it.
func agrees(got string, s *setting) bool {
	got = strings.TrimSpace(got)
	switch s.check {
	case sameBytes:
		want, err := strconv.ParseInt(s.value, 10, 64)
		if err != nil || want < 0 {
			n, _ := strconv.ParseUint(got, 10, 64)
			return got == "max" || n > 1<<62
		}
		have, err := strconv.ParseInt(got, 10, 64)
		return err == nil && have <= want && want-have < unit(s.names[0])
	case sameList:
		want, err1 := parseList(s.value)
		have, err2 := parseList(got)
		return err1 == nil && err2 == nil && slices.Equal(want, have)
	case sameWords:
		words := strings.Fields(s.value)
		for _, line := range strings.Split(got, "\n") {
			f := strings.Fields(line)
			if len(f) > 0 && len(words) > 0 && f[0] == words[0] {
				return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(f, w) })
			}
		}
		return false
	}
	return got == s.value
}

// unit returns the size of page to which a byte limit is rounded down. That of huge pages is in the file's name.
func unit(file string) int64 {
	name, huge := strings.CutPrefix(file, "hugetlb.")
	name, _, _ = strings.Cut(name, ".")
	if huge && len(name) > 2 {
		shift := map[string]int{"KB": 10, "MB": 20, "GB": 30}[name[len(name)-2:]]
		if n, err := strconv.ParseInt(name[:len(name)-2], 10, 32); err == nil && shift > 0 {
			return n << shift
		}
	}
	return int64(os.Getpagesize())
}

// inheritCPUs fills a version 1 cpuset, which no process can join while it is empty: cpuset(7).
func (d *directory) inheritCPUs() error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		have, err := d.read(name)
		if err != nil {
			return err
		}
		if strings.TrimSpace(have) != "" {
			continue
		}
		from, err := readAt(d.base, name)
		if err != nil {
			return err
		}
		if from = strings.TrimSpace(from); from == "" {
			return errors.New(name + " of the group above is empty, so that nobody can join")
		}
		if err := d.set(name, &setting{[]string{name}, from, sameList}); err != nil {
			return err
		}
	}
	return nil
}

func (d *directory) read(name string) (string, error) { return readAt(d.fd, name) }

// put writes to a file that is not read back.
func (d *directory) put(name, value string) error { return putAt(d.fd, name, value) }

// readBack reads a file after a write: one number or list in one call, a table of devices to its end.
func readBack(fd int, c check) (string, error) {
	if c == sameWords {
		return readAll(fd)
	}
	var buf [4096]byte
	n, err := sys.Pread(fd, buf[:], 0)
	return string(buf[:max(n, 0)]), err
}

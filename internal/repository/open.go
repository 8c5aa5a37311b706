package repository

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// reading looks at what a Query is about, which a payload may have put there, and notes what cannot be looked at.
type reading struct {
	Query
	problems []Problem
	nested   bool // what is looked at belongs to the search below Query.Dirs, and a problem is a Note
}

func (r *reading) exists(name string) bool {
	var st unix.Stat_t
	err := unix.Lstat(name, &st)
	r.denied(name, err)
	return err == nil
}

// denied notes a problem if the caller lacks the permission to look at a file that a payload, which has the same uid,
// could grant itself: an earlier payload may have removed that permission (chmod(2)).
func (r *reading) denied(name string, err error) {
	var st unix.Stat_t
	for at := name; err == unix.EACCES; at = path.Dir(at) {
		below := slices.ContainsFunc(r.Dirs, func(dir string) bool { return sys.Under(at, dir) })
		if err = unix.Lstat(at, &st); err == nil && int(st.Uid) == r.UID && below {
			r.problem(name, "cannot be looked at: permission denied", words.Plain("chmod u+rwx "+words.Shell(at)))
		}
	}
}

// look follows a path to its end: it returns the path without symbolic links, and stat(2), or nil.
func (r *reading) look(name string) (string, *unix.Stat_t) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		r.denied(path.Clean(name), err)
		return "", nil
	}
	defer unix.Close(fd)
	st := new(unix.Stat_t)
	if unix.Fstat(fd, st) != nil {
		return "", nil
	}
	full, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err != nil || !path.IsAbs(full) {
		return "", nil
	}
	return full, st
}

var errNotRegular = errors.New("is not a regular file")

// read returns the content of a regular file, or "".
func (r *reading) read(name string) (string, error) {
	b, err := r.readBytes(name)
	return string(b), err
}

// readBytes reads a regular file. It opens nothing else for reading: to open a device can change it.
func (r *reading) readBytes(name string) ([]byte, error) {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		r.denied(path.Clean(name), err)
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.Join(err, errNotRegular)
	}
	file, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		if err == unix.EACCES {
			r.denied(path.Clean(name), err)
		}
		return nil, err
	}
	defer unix.Close(file)
	var b bytes.Buffer
	b.Grow(int(min(st.Size, MaxSettings)) + bytes.MinRead) // so that it is not copied
	_, err = b.ReadFrom(io.LimitReader(reader(file), MaxSettings+1))
	if err == nil && b.Len() > MaxSettings {
		r.problem(name, fmt.Sprintf("has more than %d MiB, too much to look for programs that git would run",
			MaxSettings>>20), "make it smaller, or use "+words.Add("protect"))
	}
	return b.Bytes(), err
}

// reader reads an open regular file. Unlike an *os.File it does not start the runtime's poller, which takes twice as
// many system calls.
type reader int

func (fd reader) Read(b []byte) (int, error) {
	n, err := sys.Read(int(fd), b)
	if err == nil && n == 0 {
		err = io.EOF
	}
	return max(n, 0), err
}

// pointer returns the path that a file of git(1) holds after a prefix, or "".
func (r *reading) pointer(file, prefix string) string {
	text, _ := r.read(file)
	text, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), prefix)
	if !ok || len(text) >= unix.PathMax {
		return ""
	}
	return text
}

// tooMany is why names are missing.
const tooMany = "has more than 4096 entries, and the others were not looked at"

// names returns the directories in a directory of git's, sorted, and whether they are all.
func (r *reading) names(dir string) (list []string, all bool) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		r.denied(dir, err)
		return nil, true
	}
	d := os.NewFile(uintptr(fd), dir)
	defer d.Close()
	entries, err := d.ReadDir(MaxEntries + 1)
	for _, e := range entries {
		if e.IsDir() || e.Type()&os.ModeSymlink != 0 {
			list = append(list, e.Name())
		}
	}
	slices.Sort(list)
	return list, len(entries) <= MaxEntries && (err == nil || err == io.EOF)
}

// problem notes what could not be looked at.
func (r *reading) problem(name, why string, remedy words.Text) { r.note(name, why, remedy, r.nested) }

func (r *reading) note(name, why string, remedy words.Text, note bool) {
	p := Problem{name, why, remedy, note}
	if !slices.Contains(r.problems, p) {
		r.problems = append(r.problems, p)
	}
}

// home returns the caller's home directory, or "".
func (r *reading) home() string {
	if home := r.Env("HOME"); path.IsAbs(home) {
		return home
	}
	return ""
}

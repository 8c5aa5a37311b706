package asroot

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// Bounds of /etc/passwd and /etc/group in an image.
const (
	maxAccounts = 1 << 20 // bytes
	maxLine     = 32 << 10
	maxID       = 1<<32 - 2 // (uid_t)-1 means no change: setresuid(2)
)

// identity is a user in an image.
type identity struct {
	uid, gid uint32
	home     string
}

// accounts reads the users and groups of an image. The lookup of a file never leaves the tree.
type accounts struct{ tree int }

func openAccounts(tree string) (*accounts, error) {
	fd, err := unix.Open(tree, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: tree, Err: err}
	}
	return &accounts{fd}, nil
}

func (a *accounts) close() { _ = unix.Close(a.tree) } // O_PATH: nothing can be lost

// find resolves USER[:GROUP], each a name or a number, as docker does: a number need not be in the files. The group is
// otherwise the user's, or 0. "" is root.
func (a *accounts) find(text string) (u identity, err error) {
	user, group, two := strings.Cut(text, ":")
	if two && group == "" {
		return u, errors.New("the group is empty; write USER or USER:GROUP")
	}
	if user == "" {
		user = "0"
	}
	number, isNumber := parseID(user)
	u.uid, u.home = number, "/"
	passwd, err := a.read("etc/passwd")
	if err != nil {
		return u, err
	}
	line := entry(passwd, 7, func(f [][]byte) bool {
		id, ok := parseID(string(f[2]))
		return ok && (isNumber && id == number || !isNumber && string(f[0]) == user)
	})
	switch {
	case line != nil:
		u.uid, _ = parseID(string(line[2]))
		if u.gid, isNumber = parseID(string(line[3])); !isNumber {
			return u, errors.New("its group in the image's /etc/passwd is not a number; write numbers: UID:GID")
		}
		if home := string(line[5]); plainPath(home) {
			u.home = home
		}
	case !isNumber:
		return u, errors.New("the image's /etc/passwd has no such user; write a user that it has, or numbers: UID:GID")
	}
	if two {
		u.gid, err = a.group(group)
	}
	return u, err
}

func (a *accounts) group(name string) (uint32, error) {
	if id, ok := parseID(name); ok {
		return id, nil
	}
	text, err := a.read("etc/group")
	if err != nil {
		return 0, err
	}
	line := entry(text, 4, func(f [][]byte) bool {
		_, ok := parseID(string(f[2]))
		return ok && string(f[0]) == name
	})
	if line == nil {
		return 0, errors.New("the image's /etc/group has no such group; write a group that it has, or a number")
	}
	id, _ := parseID(string(line[2]))
	return id, nil
}

// entry returns the fields of the first line of passwd(5) or group(5) that fits. Lines with another number of fields,
// or longer than maxLine, are left out.
func entry(text []byte, fields int, fits func([][]byte) bool) [][]byte {
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if len(line) > maxLine || bytes.Count(line, []byte(":")) != fields-1 {
			continue
		}
		if f := bytes.Split(line, []byte(":")); len(f[0]) > 0 && fits(f) {
			return f
		}
	}
	return nil
}

// parseID parses a uid or gid in digits.
func parseID(s string) (uint32, bool) {
	if s == "" || len(s) > 10 || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 10, 64)
	return uint32(v), err == nil && v <= maxID
}

// plainPath reports whether a path is absolute, clean and printable, so that it can be a variable's value as it is.
func plainPath(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && len(p) <= maxPath &&
		!strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// read returns the content of a regular file of the image, or nothing if there is none.
func (a *accounts) read(name string) ([]byte, error) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := sys.Openat2(a.tree, name, &how)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, &os.PathError{Op: "openat2", Path: "/" + name, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil, errors.Join(err, fmt.Errorf("its /%s is not a regular file; use another image", name))
	}
	if st.Size > maxAccounts {
		return nil, fmt.Errorf("its /%s has more than %d bytes; use another image", name, maxAccounts)
	}
	return sys.ReadAll(fd)
}

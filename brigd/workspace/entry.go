package workspace

import (
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"brig/internal/words"
)

// Entry describes one file of a sandbox.
type Entry struct {
	// Path is where the jail sees it, as valid UTF-8: bytes that are none are quoted, and RawPath has the name itself.
	Path    string    `json:"path"`
	Type    string    `json:"type"` // file, dir, symlink, other
	Size    int64     `json:"size"` // in bytes
	Mode    string    `json:"mode"` // permissions in octal
	ModTime time.Time `json:"mtime"`
	Target  string    `json:"target,omitempty"` // of a symlink
	RawPath []byte    `json:"path_base64,omitempty"`

	path, target string // unescaped
	mode         int64  // the nine permission bits
}

// types are the values of Entry.Type; any other file is "other".
var types = map[uint32]string{unix.S_IFREG: "file", unix.S_IFDIR: "dir", unix.S_IFLNK: "symlink"}

// entryOf describes the file of a descriptor, which may refer to a symbolic link itself. path is unescaped.
func entryOf(fd int, path string) (*Entry, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	e := &Entry{Path: printable(path), Type: "other", Size: st.Size, Mode: fmt.Sprintf("%04o", st.Mode&0o7777),
		ModTime: time.Unix(st.Mtim.Unix()).UTC(), path: path,
		mode: int64(st.Mode & 0o777)}
	if name, ok := types[st.Mode&unix.S_IFMT]; ok {
		e.Type = name
	}
	if !utf8.ValidString(path) {
		e.RawPath = []byte(path)
	}
	if e.Type == "symlink" {
		target, err := readlink(fd)
		if err != nil {
			return nil, err
		}
		e.Target, e.target = printable(target), target
	}
	return e, nil
}

// readlink reads the symbolic link that fd refers to: readlinkat(2) with an empty path.
func readlink(fd int) (string, error) {
	var buf [pathMax]byte // the longest target that the kernel accepts
	n, err := unix.Readlinkat(fd, "", buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// printable returns a name as valid UTF-8: each invalid byte becomes \xNN.
func printable(name string) string { return words.UTF8(name, math.MaxInt) }

package workspace

import (
	"strconv"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
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
}

// entryOf describes the file of a descriptor, which may refer to a symbolic link itself. path is unescaped.
func entryOf(fd int, path string) (*Entry, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	e := &Entry{Path: printable(path), Type: typeOf(st.Mode), Size: st.Size, Mode: octal(st.Mode),
		ModTime: time.Unix(st.Mtim.Unix()).UTC()}
	if !utf8.ValidString(path) {
		e.RawPath = []byte(path)
	}
	if e.Type == "symlink" {
		target, err := readlink(fd)
		if err != nil {
			return nil, err
		}
		e.Target = printable(target)
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

func typeOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "dir"
	case unix.S_IFLNK:
		return "symlink"
	}
	return "other"
}

// kindOf returns the type of a file for a message.
func kindOf(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFIFO:
		return "a FIFO"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	}
	return "no regular file"
}

func octal(mode uint32) string {
	s := strconv.FormatUint(uint64(mode&0o7777), 8)
	return "0000"[:4-len(s)] + s
}

// printable returns a name as valid UTF-8: each invalid byte becomes \xNN.
func printable(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var b []byte
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 {
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'x', hex[name[0]>>4], hex[name[0]&15])
		} else {
			b = append(b, name[:n]...)
		}
		name = name[n:]
	}
	return string(b)
}

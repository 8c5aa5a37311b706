package sys

import (
	"bytes"
	"encoding/binary"
	"iter"

	"golang.org/x/sys/unix"
)

// Entry is a name in a directory. It is valid until the next one is read.
type Entry struct {
	Dir  int    // the directory's descriptor
	Kind uint32 // the type in st_mode, such as unix.S_IFDIR; 0 if the file is gone
	name []byte
}

// Name returns the name.
func (e *Entry) Name() string { return string(e.name) }

// Is reports whether the entry has a name.
func (e *Entry) Is(name string) bool { return string(e.name) == name }

// EntriesSize is the size of a buffer for Entries.
const EntriesSize = 8192

// Entries reads an open directory from its offset, without "." and "..": getdents64(2). An error is the last pair.
// Unlike os.File.ReadDir it allocates only for names that are read by Entry.Name.
func Entries(fd int, buf []byte) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		e := Entry{Dir: fd}
		for {
			n, err := Retry(func() (int, error) { return unix.ReadDirent(fd, buf) })
			if err != nil {
				yield(nil, err)
			}
			if err != nil || n <= 0 {
				return
			}
			for rest := buf[:n]; len(rest) > direntName; {
				length := min(int(binary.NativeEndian.Uint16(rest[16:])), len(rest))
				if length <= direntName {
					return
				}
				line := rest[:length]
				rest = rest[length:]
				e.name, _, _ = bytes.Cut(line[direntName:], []byte{0})
				if e.Is(".") || e.Is("..") {
					continue
				}
				if e.Kind = uint32(line[18]) << 12; e.Kind == unix.DT_UNKNOWN { // DT_* are the bits of S_IFMT
					e.Kind = kindOf(fd, e.Name())
				}
				if !yield(&e, nil) {
					return
				}
			}
		}
	}
}

// direntName is where the name begins in struct linux_dirent64: after d_ino, d_off, d_reclen and d_type.
const direntName = 19

// kindOf asks for the type of a file, for a file system that does not tell it in a directory.
func kindOf(dir int, name string) uint32 {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return 0
	}
	return st.Mode & unix.S_IFMT
}

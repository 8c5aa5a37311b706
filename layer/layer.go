package layer

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"strings"

	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// Defaults of Options and PackOptions.
const (
	DefaultMaxBytes = 16 << 30
	DefaultMaxFiles = 1_000_000
)

const (
	maxPath  = 4095 // bytes of a name: PATH_MAX without its NUL
	maxName  = 255  // bytes of a component: NAME_MAX
	maxDepth = 256  // components, each of which is an open descriptor
)

// Options bounds an Unpack. The zero value has the defaults.
type Options struct {
	MaxBytes int64 // of file contents, holes included
	MaxFiles int64 // entries of all types, and directories that only the names of entries imply

	// Used is what the layers below have used of the same bounds: the sum of their Stats. It may be nil.
	Used *Stats
}

// PackOptions are for Pack. The zero value packs a plain tree.
type PackOptions struct {
	// Overlay is true if the directory is the upper directory of an overlay: a 0:0 character device is a whiteout, and
	// the attributes user.overlay.* and trusted.overlay.* are overlayfs's.
	Overlay bool

	// Skip, unless nil, reports whether a file, link or directory has no entry, such as one that an overlay has copied
	// up and that has not changed. The name is relative and may be any bytes. Skip is also called for the files in a
	// skipped directory. A hard link to a file that was skipped is written in full.
	Skip func(name string) bool

	// Table, unless nil, is filled by the first Pack, and makes a later one of the same tree write only what differs.
	Table *Table

	// Live tolerates changes of the tree by others, which are an error without it. A file that gets shorter ends with
	// zeros, what it gains is not written, and one that is removed, replaced or leased meanwhile is left out.
	Live bool

	MaxBytes int64 // of file contents, holes included
	MaxFiles int64 // entries
}

// Stats counts what Unpack or Pack did.
type Stats struct {
	Files   int64 // entries of all types, and directories made for their names
	Bytes   int64 // of their contents, holes included
	Removed int64 // whiteouts and opaque directories
	LeftOut []Left
}

// Left is a kind of thing that was not written.
type Left struct {
	Kind  Kind   `json:"kind"`
	Count int64  `json:"count"`
	First string `json:"first"` // the name of the first; any bytes
}

// Kind is what was left out of a layer or of a directory.
type Kind string

// What Unpack and Pack leave out or drop.
const (
	Device   Kind = "device"
	FIFO     Kind = "FIFO"
	Socket   Kind = "socket"
	SetID    Kind = "set-user-ID or set-group-ID bit"
	Xattr    Kind = "extended attribute"
	Reserved Kind = "reserved name"                      // .wh.NAME that is no whiteout
	TooDeep  Kind = "name too long or too deep"          // over 4095 bytes or 256 levels
	Gone     Kind = "file removed or replaced meanwhile" // PackOptions.Live
	Unknown  Kind = "entry of an unknown type"           // a type of tar(5) that no file has
)

// String lists what was left out, for one line of a terminal; it is "" if that is nothing.
func (s *Stats) String() string {
	var list []string
	for _, l := range s.LeftOut {
		list = append(list, fmt.Sprintf("%d × %s (first %s)", l.Count, l.Kind, words.Quote(l.First)))
	}
	return strings.Join(list, ", ")
}

func (s *Stats) leave(k Kind, name string) {
	for i := range s.LeftOut {
		if s.LeftOut[i].Kind == k {
			s.LeftOut[i].Count++
			return
		}
	}
	s.LeftOut = append(s.LeftOut, Left{k, 1, name})
}

// LimitError is the error for a layer that exceeds a bound of Options or PackOptions.
type LimitError struct {
	What string // "bytes" or "files"
	Max  int64
}

// Error names the setting that raises the bound.
func (e *LimitError) Error() string { return e.Text().String() }

// Text returns the text of Error with its reference to the setting.
func (e *LimitError) Text() words.Text {
	return words.Textf("more than %d %s%s", e.Max, e.What,
		words.Clause(": "+words.Field("max_"+e.What)+" raises the bound"))
}

// bounds counts against MaxBytes and MaxFiles.
type bounds struct {
	files, maxFiles int64
	bytes, maxBytes int64
}

func newBounds(maxBytes, maxFiles int64, used *Stats) bounds {
	b := bounds{maxBytes: cmp.Or(maxBytes, DefaultMaxBytes), maxFiles: cmp.Or(maxFiles, DefaultMaxFiles)}
	if used != nil {
		b.bytes, b.files = used.Bytes, used.Files
	}
	return b
}

func (b *bounds) entry() error {
	if b.files++; b.files > b.maxFiles {
		return &LimitError{"files", b.maxFiles}
	}
	return nil
}

func (b *bounds) content(n int64) error {
	if n > b.maxBytes-b.bytes {
		return &LimitError{"bytes", b.maxBytes}
	}
	b.bytes += n
	return nil
}

// Table has a hash of each entry of a layer, with which Pack writes what differs of the same tree later on. The hashes
// have 64 bits and a random seed, so they mean nothing to another process, and equal ones of different entries are one
// accident of 2^64. The zero Table is empty.
type Table struct {
	seed maphash.Seed
	sums map[string]uint64 // by the name of the entry, which ends with a slash if it is a directory
}

// inode identifies a file or directory as long as it exists.
type inode struct{ dev, ino uint64 }

func inodeOf(st *unix.Stat_t) inode { return inode{st.Dev, st.Ino} }

package gitdata

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// MaxIndex bounds the index that BadIndex reads, in bytes.
const MaxIndex = 256 << 20

const (
	statSize = 40     // of an entry: ctime, mtime, dev, ino, mode, uid, gid, size
	nameMask = 0xfff  // flags of an entry: the length of the name, if it is less
	extended = 0x4000 // there are two more bytes of flags
)

// hashSize returns the bytes of a hash in a repository with such settings: extensions.objectFormat of git-config(1).
func hashSize(config string) int {
	for line := range strings.Lines(strings.ToLower(config)) {
		name, value, _ := strings.Cut(line, "=")
		if strings.HasSuffix(strings.TrimSpace(name), "objectformat") && strings.Contains(value, "sha256") {
			return 32
		}
	}
	return 20
}

// ObjectHash returns the bytes of a hash in a git directory of the host. read returns the content of a file by its
// path from there, or by an absolute one, and "" for none.
func ObjectHash(read func(name string) string) int {
	config := read("config")
	if config == "" { // that of a linked worktree
		if common := strings.TrimRight(read("commondir"), "\r\n"); common != "" {
			config = read(common + "/config")
		}
	}
	return hashSize(config)
}

// BadIndex returns why an index (gitformat-index(5)) must not come to the host, or "". git writes files by the names in
// it (`git checkout .`, `git stash`), and looks at them only when it adds one: an entry .git/hooks/pre-commit is a hook
// afterwards. So it is read here as git reads it, in one piece and in the blocks that its extensions name.
//
// An entry for a submodule makes `git status` look into that directory, with the settings of a repository there, which
// the payload can make. links returns the paths of those that the host has.
func BadIndex(r io.ReaderAt, size int64, hash int, links func() []string) string {
	x := newIndexReader(r, size, hash)
	if err := x.read(); err != nil {
		return err.Error()
	}
	var known []string
	for i, name := range x.links {
		if i == 0 {
			known = links()
		}
		if !slices.Contains(known, name) {
			return "it names a submodule that the host does not have"
		}
	}
	return ""
}

// GitlinkMode are the bytes of the mode of an entry for a submodule, which an index without one need not have.
const GitlinkMode = "\x00\x00\xe0\x00"

// Gitlinks returns the paths of the submodules in an index.
func Gitlinks(index string, hash int) []string {
	x := newIndexReader(strings.NewReader(index), int64(len(index)), hash)
	_ = x.read() // of one that is damaged, what comes before
	return x.links
}

func newIndexReader(r io.ReaderAt, size int64, hash int) *indexReader {
	return &indexReader{file: r, size: size, hash: int64(hash),
		in: bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 64<<10)}
}

// indexReader reads one index.
type indexReader struct {
	file    io.ReaderAt
	size    int64
	hash    int64
	in      *bufio.Reader
	at      int64   // the position of in
	starts  []int64 // of the entries
	whole   []bool  // whether the name of an entry owes nothing to the one before: version 4
	end     int64   // of the entries
	eoie    int64   // the position of that extension, or 0
	blocks  []byte  // the extension IEOT
	unnamed bool    // an entry has no name
	split   bool    // there is an extension "link"
	links   []string
}

var errNoIndex = errors.New("it is no index")

func (x *indexReader) read() error {
	if x.size > MaxIndex {
		return fmt.Errorf("it has more than %d MiB", MaxIndex>>20)
	}
	head, err := x.next(12)
	if err != nil || string(head[:4]) != "DIRC" {
		return errNoIndex
	}
	version, n := binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[8:])
	if version < 2 || version > 4 {
		return errNoIndex
	}
	name := ""
	for range n {
		if name, err = x.entry(version, name); err != nil {
			return err
		}
	}
	x.end = x.at
	if err := x.extensions(); err != nil {
		return err
	}
	if x.unnamed && !x.split {
		return errNoIndex
	}
	return x.threads()
}

// next reads bytes of a fixed number. What it returns is good until the next call.
func (x *indexReader) next(n int) ([]byte, error) {
	b, err := x.in.Peek(n)
	if err != nil || x.at+int64(n) > x.size-x.hash {
		return nil, errNoIndex
	}
	x.at += int64(n)
	_, err = x.in.Discard(n)
	return b, err
}

// entry reads an entry, and returns its name. Of a version 4 index, name is the last one.
func (x *indexReader) entry(version uint32, name string) (string, error) {
	start := x.at
	head, err := x.next(statSize + int(x.hash) + 2)
	if err != nil {
		return "", err
	}
	mode, flags := binary.BigEndian.Uint32(head[24:]), binary.BigEndian.Uint16(head[len(head)-2:])
	if flags&extended != 0 {
		if _, err := x.next(2); err != nil {
			return "", err
		}
	}
	kept := ""
	if version == 4 {
		strip, err := x.varint()
		if err != nil || strip > uint64(len(name)) {
			return "", errNoIndex
		}
		kept = name[:uint64(len(name))-strip]
	}
	rest, err := x.in.ReadSlice(0)
	x.at += int64(len(rest))
	if err != nil || x.at > x.size-x.hash || len(kept)+len(rest) > 1<<15 {
		return "", errNoIndex
	}
	name = kept + string(rest[:len(rest)-1])
	if length := int(flags & nameMask); length != min(len(name), nameMask) {
		return "", errNoIndex // git would take other bytes for the name
	}
	for version < 4 && (x.at-start)%8 != 0 {
		if b, err := x.next(1); err != nil || b[0] != 0 {
			return "", errNoIndex
		}
	}
	x.starts, x.whole = append(x.starts, start), append(x.whole, kept == "")
	x.unnamed = x.unnamed || name == ""
	if name != "" && !mayName(name, mode) {
		return "", errors.New("it names files of git's own")
	}
	if mode&0o170000 == 0o160000 {
		x.links = append(x.links, name)
	}
	return name, nil
}

// varint reads a number as git's decode_varint does.
func (x *indexReader) varint() (n uint64, err error) {
	for i := 0; ; i++ {
		b, err := x.next(1)
		if err != nil || i == 4 {
			return 0, errNoIndex
		}
		if i > 0 {
			n++
		}
		n = n<<7 | uint64(b[0]&0x7f)
		if b[0]&0x80 == 0 {
			return n, nil
		}
	}
}

// mayName reports whether a file of the work tree can have a name: git's verify_path, with what file systems without
// case or with short names take for .git. The name of a directory of a sparse index ends in a slash.
func mayName(name string, mode uint32) bool {
	if mode&0o170000 == 0o040000 {
		name = strings.TrimSuffix(name, "/")
	}
	for part := range strings.SplitSeq(name, "/") {
		base, _, _ := strings.Cut(part, ":")
		base = strings.TrimRight(base, " .")
		if part == "" || part == "." || part == ".." || strings.EqualFold(base, ".git") ||
			strings.EqualFold(base, "git~1") {
			return false
		}
	}
	return true
}

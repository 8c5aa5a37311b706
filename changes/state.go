package changes

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"brig/internal/owned"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

const (
	bufferSize  = 256 << 10
	binaryProbe = 8000 // bytes: git(1) calls a file binary if it has a NUL among so many
)

// kindOf returns the kind of a file.
func kindOf(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return Regular
	case unix.S_IFDIR:
		return Directory
	case unix.S_IFLNK:
		return Symlink
	}
	return Other
}

// reader reads states. Its zero value is ready.
type reader struct {
	buf []byte
	own bool // the files are the payload's, in an upper directory: unreadable ones are made readable
	ctx context.Context
	// left is how many bytes may still be hashed; nil is no bound.
	left *int64
	// like is what a file is compared with, if its digest is of use for that alone.
	like *File
}

// state returns the state of a name in a directory; nil if there is none. An unreadable file has no digest. The error
// is EXDEV if something is mounted there.
func (r *reader) state(dir int, name string) (*State, error) {
	st, err := stat(dir, name)
	if st == nil || err != nil {
		return nil, err
	}
	s := &State{Kind: kindOf(st.Mode), Mode: st.Mode & permissions, MTime: st.Mtim.Nano(), Inode: st.Ino, stat: st}
	switch s.Kind {
	case Symlink:
		target := make([]byte, pathMax)
		n, err := unix.Readlinkat(dir, name, target)
		s.Target = Name(target[:max(n, 0)])
		return s, err
	case Regular:
		s.Size = st.Size
	case Other:
		return s, nil
	}
	return s, r.open(dir, name, s)
}

// open reads a file or directory by a descriptor.
func (r *reader) open(dir int, name string, s *State) (err error) {
	var fd int
	if r.own {
		var restore func() error
		if fd, restore, err = owned.Open(dir, name, 0, 0o700); err == nil {
			defer func() { err = errors.Join(err, restore(), unix.Close(fd)) }()
		}
	} else if fd, err = open(dir, name, read); err == nil {
		defer unix.Close(fd)
	} else if err == unix.EACCES || err == unix.EPERM {
		return nil
	}
	if err != nil {
		return err
	}
	return r.content(fd, s)
}

// maxHashed is the size in bytes beyond which a file of the base is compared by inode, time and size instead of its
// digest: a run can remove a large file at once, and reading all of it would keep the caller waiting.
const maxHashed = 4 << 30

// maxOld bounds, in bytes, what Capture hashes of the base. Further files are compared in the same way.
const maxOld = 1 << 30

// content reads the attributes and, of a regular file, the bytes.
func (r *reader) content(fd int, s *State) (err error) {
	var before, after unix.Stat_t
	if err := unix.Fstat(fd, &before); err != nil {
		return err
	}
	if before.Ino != s.stat.Ino || before.Dev != s.stat.Dev {
		return errChanged
	}
	var overlay []string
	if s.XAttrs, overlay, err = attributes(fd); err != nil {
		return err
	}
	if r.own && (slices.Contains(overlay, "metacopy") || slices.Contains(overlay, "redirect")) {
		return errors.New("overlayfs has put it elsewhere (redirect_dir, metacopy); mount the overlay without these options")
	}
	if s.Kind != Regular {
		return nil
	}
	if !r.own && (before.Size > maxHashed || r.left != nil && before.Size > *r.left) {
		s.binary = true
		return nil
	}
	if r.like != nil && !r.like.digest(before.Size) {
		return nil
	}
	if r.left != nil {
		*r.left -= before.Size
	}
	if err := r.hash(fd, s); err != nil {
		return err
	}
	if err := unix.Fstat(fd, &after); err != nil {
		return err
	}
	if after.Size != s.Size || after.Mtim != before.Mtim {
		return errChanged
	}
	return nil
}

// hash sets the digest, the size and the number of lines.
func (r *reader) hash(fd int, s *State) error {
	if r.buf == nil {
		r.buf = make([]byte, bufferSize)
	}
	content, last := newSum(), byte('\n')
	for {
		if r.ctx != nil && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		n, err := sys.Read(fd, r.buf)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		b := r.buf[:n]
		if content.size < binaryProbe {
			s.binary = s.binary || isBinary(b[:min(int64(n), binaryProbe-content.size)])
		}
		_, _ = content.Write(b) // it never fails: package hash
		s.lines += bytes.Count(b, []byte{'\n'})
		last = b[n-1]
	}
	if last != '\n' {
		s.lines++
	}
	s.Size, s.SHA256 = content.size, content.digest()
	return nil
}

// readText returns the bytes of a regular file below dir that has the digest of s.
func readText(dir int, path string, s *State) ([]byte, error) {
	fd, err := open(dir, path, read)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b, err := sys.ReadAll(fd)
	switch err {
	case nil, unix.EFBIG, unix.ESPIPE, unix.EISDIR: // the last two of a FIFO and a directory
		if err != nil || digest(b) != s.SHA256 {
			return nil, errChanged
		}
	}
	return b, err
}

// isBinary reports whether git(1) would call a text binary.
func isBinary(text []byte) bool {
	return bytes.IndexByte(text[:min(len(text), binaryProbe)], 0) >= 0
}

package changes

import (
	"archive/tar"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Set is a change set of a store.
type Set struct {
	Header
	ID string // 64 hexadecimal digits
	// Interrupted means that an Apply has begun and not ended: the next one finishes it.
	Interrupted bool

	store *Store
	files []*File
}

// file opens a file of the set, which must be a regular one.
func (s *Set) file(name string) (*os.File, error) {
	f, err := s.store.dir.Open(s.ID+"/"+name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// small reads a file of the set that fits into memory.
func (s *Set) small(name string) ([]byte, error) {
	f, err := s.file(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxHeader+1))
}

// Files reads the changes, in the order of their paths: what is in a directory follows it at once.
func (s *Set) Files() ([]*File, error) {
	if s.files != nil {
		return s.files, nil
	}
	var files []*File
	f, err := s.verified(filesFile, &s.Table, func(in io.Reader, _ *sum) (err error) {
		files, err = parseFiles(in)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.files = files
	return files, f.Close()
}

// verified reads a file of the set, and compares the digest of all of it. An error is a *DamagedError.
func (s *Set) verified(name string, b *Blob, read func(io.Reader, *sum) error) (*os.File, error) {
	f, err := s.file(name)
	if err != nil {
		return nil, &DamagedError{s.ID, err}
	}
	got := newSum()
	in := io.TeeReader(io.LimitReader(f, b.Size), got)
	err = read(in, got)
	if _, cerr := io.Copy(io.Discard, in); cerr != nil {
		err = cerr
	} else if got.size != b.Size || digestPrefix+got.digest() != b.Digest {
		err = errors.New("it has another digest") // a more useful error than what read says about foreign text
	}
	if err != nil {
		return nil, errors.Join(&DamagedError{s.ID, fmt.Errorf("%s: %w", name, err)}, f.Close())
	}
	return f, nil
}

// span is where the content of a file is in a layer.
type span struct{ at, size int64 }

// key stands for a path in an open layer. The list of a set has all paths, and they may have 64 MiB; nobody finds two
// with the same half of a SHA-256.
type key [sha256.Size / 2]byte

func keyOf(path string) (k key) {
	all := sha256.Sum256([]byte(path))
	copy(k[:], all[:])
	return k
}

// contents is an open layer, with the places of its files.
type contents struct {
	layer *os.File
	spans map[key]span
}

// open opens the layer and finds its files. The whole layer is read, to compare its digest.
func (s *Set) open() (c *contents, err error) {
	c = new(contents)
	c.layer, err = s.verified(layerFile, &s.Layer, func(in io.Reader, got *sum) (err error) {
		c.spans, err = index(in, got)
		return err
	})
	return c, err
}

// index finds the contents of the regular files of a layer. A hard link has that of the file that it names, which
// comes first. A sparse file has none: layers of this package have no such files.
func index(in io.Reader, got *sum) (map[key]span, error) {
	spans := map[key]span{}
	r := tar.NewReader(in)
	for n := 0; ; n++ {
		h, err := r.Next()
		if err == io.EOF {
			return spans, nil
		}
		if err != nil {
			return nil, err
		}
		if n == 2*maxFiles {
			return nil, fmt.Errorf("it has more than %d entries", n)
		}
		name := strings.TrimSuffix(h.Name, "/")
		switch h.Typeflag {
		case tar.TypeReg:
			spans[keyOf(name)] = span{got.size, h.Size} // archive/tar has read the header and nothing after it
		case tar.TypeLink:
			if s, ok := spans[keyOf(h.Linkname)]; ok {
				spans[keyOf(name)] = s
			}
		}
	}
}

// reader returns the content of a file of the set.
func (c *contents) reader(f *File) (*io.SectionReader, error) {
	path := f.Path
	if f.first != nil {
		path = f.first.Path
	}
	s, ok := c.spans[keyOf(string(path))]
	if !ok || s.size != f.New.Size {
		return nil, at(string(f.Path), errors.New("the layer does not have its content"))
	}
	return io.NewSectionReader(c.layer, s.at, s.size), nil
}

// text returns the content of a small file of the set.
func (c *contents) text(f *File) ([]byte, error) {
	r, err := c.reader(f)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if err == nil && digest(b) != f.New.SHA256 {
		err = at(string(f.Path), errors.New("its content has another digest"))
	}
	return b, err
}

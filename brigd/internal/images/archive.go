package images

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"brig/internal/words"
	"brig/layer"
)

// Bounds of an archive of images. Its layers are files of it; what they hold is not counted.
const (
	maxEntries = 10_000   // files, directories and links
	maxHeaders = 48 << 20 // bytes of all that is not a file's content
	maxPath    = 4095     // bytes of a name
)

// files is a set of files by name: a directory or an archive. No name of it reaches the file system.
type files interface {
	open(name string) (*part, error)
	io.Closer
}

// part is an open file of a set.
type part struct {
	*io.SectionReader
	io.Closer
}

// directory is a directory, out of which no link leads: os.Root.
type directory struct{ *os.Root }

func openDirectory(name string) (files, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return directory{root}, nil
}

func (d directory) open(name string) (*part, error) {
	f, err := d.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0) // a FIFO does not block it
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", words.Quote(name))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &part{io.NewSectionReader(f, 0, st.Size()), f}, nil
}

// archive is a tar archive whose files are read where they stand.
type archive struct {
	*os.File
	entries map[string]entry
}

type entry struct {
	at, size int64
	link     string // the entry of the content, if not its own
}

func (a *archive) open(name string) (*part, error) {
	for range 8 { // docker links equal layers
		e, ok := a.entries[path.Clean(name)]
		if !ok {
			return nil, fmt.Errorf("it has no file %s", words.Quote(name))
		}
		if e.link == "" {
			r := io.NewSectionReader(a, e.at, e.size)
			return &part{r, io.NopCloser(r)}, nil
		}
		name = e.link
	}
	return nil, fmt.Errorf("its file %s is a link to a link, too many times", words.Quote(name))
}

// openArchive reads the table of an archive. A compressed one, or one that comes from a pipe, is first written to the
// store's file system.
func (c *command) openArchive(name string, in *intake) (files, error) {
	f, err := c.input(name)
	if err != nil {
		return nil, err
	}
	a := &archive{entries: map[string]entry{}}
	if a.File, err = in.seekable(f); err == nil {
		err = a.read()
	}
	if err != nil {
		a.Close() // nothing was written that an error could lose
		return nil, err
	}
	return a, nil
}

// read reads the table.
func (a *archive) read() error {
	st, err := a.Stat()
	if err != nil {
		return err
	}
	all := io.NewSectionReader(a, 0, st.Size())
	headers := &io.LimitedReader{R: all, N: maxHeaders}
	r := tar.NewReader(struct { // it seeks over the contents
		io.Reader
		io.Seeker
	}{headers, all})
	for n := 0; ; n++ {
		h, err := r.Next()
		switch {
		case headers.N == 0:
			return fmt.Errorf("it has more than %d bytes of headers", maxHeaders)
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("not a tar archive, or a damaged one: %w", err)
		case n == maxEntries:
			return fmt.Errorf("it has more than %d files", maxEntries)
		case len(h.Name) > maxPath || len(h.Linkname) > maxPath:
			return fmt.Errorf("it has a name of more than %d bytes", maxPath)
		}
		at, err := all.Seek(0, io.SeekCurrent) // the reader has read the header and nothing after it
		if err != nil {
			return err
		}
		switch name := path.Clean(h.Name); h.Typeflag {
		case tar.TypeReg:
			if at+h.Size > st.Size() {
				return fmt.Errorf("its file %s is cut off", words.Quote(h.Name))
			}
			a.entries[name] = entry{at: at, size: h.Size}
		case tar.TypeSymlink:
			a.entries[name] = entry{link: path.Join(path.Dir(name), h.Linkname)}
		case tar.TypeLink:
			a.entries[name] = entry{link: path.Clean(h.Linkname)}
		}
	}
}

// seekable returns a file that can be read at any offset and is not compressed: f, or a copy with at most the bytes
// that the layers may have.
func (in *intake) seekable(f *os.File) (*os.File, error) {
	st, err := f.Stat()
	if err != nil {
		return f, err
	}
	var magic [4]byte
	if st.Mode().IsRegular() {
		if _, err := f.ReadAt(magic[:], 0); err != nil && err != io.EOF {
			return f, err
		}
		if compression(magic[:]) == "" {
			return f, nil
		}
	}
	plain, err := uncompressed(f)
	if err != nil {
		return f, err
	}
	defer plain.Close()
	spool, err := in.Spool()
	if err != nil {
		return f, err
	}
	n, err := io.Copy(spool, io.LimitReader(plain, in.most+1))
	if err == nil && n > in.most {
		err = &layer.LimitError{What: "bytes", Max: in.most}
	}
	return spool, err
}

// input opens a file of the caller's; "-" is standard input.
func (c *command) input(name string) (*os.File, error) {
	if name == "-" {
		f, ok := c.in.(*os.File)
		if !ok {
			return nil, errors.New("standard input is not a file")
		}
		return f, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || st.IsDir() {
		return nil, errors.Join(fmt.Errorf("%s is a directory; write oci:DIR or dir:DIR", words.Quote(name)), err, f.Close())
	}
	return f, nil
}

// split splits FILE:REFERENCE at the first colon behind a file that exists. A file whose name has a colon goes first.
func split(text string) (file, ref string) {
	for at := len(text); ; {
		if _, err := os.Lstat(text[:at]); err == nil || text[:at] == "-" {
			return text[:at], strings.TrimPrefix(text[at:], ":")
		}
		if at = strings.LastIndexByte(text[:at], ':'); at <= 0 {
			return text, ""
		}
	}
}

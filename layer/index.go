package layer

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
	"brig/internal/words"
)

// Index lists the files of one layer, which can then be unpacked several times without being parsed again. The layer
// must be one that Pack has written of a plain tree: without whiteouts, and with each directory before what is in it.
type Index struct {
	src                       io.ReaderAt
	dirs, files, hards, links []indexed
}

// indexed is one file.
type indexed struct {
	path string
	text string // the target of a link
	mode uint32
	time time.Time
	size int64
	at   int64             // offset of the content in the layer
	pax  map[string]string // nil if it has no extended attributes
}

// split returns the directory, "" or ending in a slash, and the name in it.
func (e *indexed) split() (dir, name string) {
	n := strings.LastIndexByte(e.path, '/') + 1
	return e.path[:n], e.path[n:]
}

// errForeign is the error for a layer that Pack would not have written.
var errForeign = errors.New("it is not the layer of a plain tree")

// NewIndex reads the headers of a layer, which must not change as long as the Index is used.
func NewIndex(src *io.SectionReader) (*Index, error) {
	x := &Index{src: src}
	for t := tar.NewReader(src); ; {
		h, err := t.Next()
		if err == io.EOF {
			return x, nil
		}
		if err != nil {
			return nil, damaged(err)
		}
		names, err := split(h.Name)
		if err == nil && (len(names) == 0 || strings.HasPrefix(names[len(names)-1], whiteoutPrefix)) {
			err = errForeign
		}
		e := indexed{path: strings.Join(names, "/"), text: h.Linkname, mode: uint32(h.Mode), time: h.ModTime, size: h.Size}
		for record := range h.PAXRecords {
			if strings.HasPrefix(record, paxXattr) {
				e.pax = h.PAXRecords
			}
		}
		if err == nil {
			e.at, err = src.Seek(0, io.SeekCurrent) // archive/tar reads blocks and nothing ahead
		}
		switch h.Typeflag {
		case tar.TypeDir:
			x.dirs = append(x.dirs, e)
		case tar.TypeReg:
			x.files = append(x.files, e)
		case tar.TypeLink:
			if names, err2 := split(h.Linkname); err == nil {
				e.text, err = strings.Join(names, "/"), err2
			}
			x.hards = append(x.hards, e)
		case tar.TypeSymlink:
			x.links = append(x.links, e)
		default:
			err = errors.Join(err, errForeign)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", words.Quote(h.Name), err)
		}
	}
}

// Unpack writes the files to a directory that nobody else uses and that holds at most some of the layer's directories.
// It makes the directories, then the files in several threads, and symbolic links last, so that no name leads through
// one. as calls a function with the ids of the files' owner.
func (x *Index) Unpack(root *os.File, as func(func() error) error) error {
	return sys.Control(root, func(fd int) error {
		err := as(func() error { return each(x.dirs, func(e *indexed) error { return e.mkdir(fd) }) })
		if err == nil {
			err = x.contents(fd, as)
		}
		if err != nil {
			return err
		}
		return as(func() error {
			err := each(x.hards, func(e *indexed) error { return unix.Linkat(fd, e.text, fd, e.path, 0) })
			if err == nil {
				err = each(x.links, func(e *indexed) error { return e.symlink(fd) })
			}
			if err == nil {
				err = each(x.dirs, func(e *indexed) error { return e.directory(fd) })
			}
			return err
		})
	})
}

// each calls do for files until it fails, and names the file then.
func each(list []indexed, do func(*indexed) error) error {
	for i := range list {
		if err := do(&list[i]); err != nil {
			return fmt.Errorf("%s: %w", words.Quote(list[i].path), err)
		}
	}
	return nil
}

// contents makes the regular files, in at most 4 threads.
func (x *Index) contents(root int, as func(func() error) error) error {
	errs := make(chan error, 4)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(cap(errs), runtime.GOMAXPROCS(0), len(x.files)) {
		all.Go(func() {
			errs <- as(func() error {
				w := &indexWriter{unpacker{stats: &Stats{}}, x.src, root, -1, ""}
				defer w.close()
				for n := next.Add(1); n <= int64(len(x.files)); n = next.Add(1) {
					if err := each(x.files[n-1:n], w.file); err != nil {
						next.Store(int64(len(x.files))) // the others end too
						return err
					}
				}
				return nil
			})
		})
	}
	all.Wait()
	close(errs)
	for err := range errs { // the first one: those of the other threads are mostly the same
		if err != nil {
			return err
		}
	}
	return nil
}

// indexWriter makes files, most of which are in the same directory as the one before.
type indexWriter struct {
	unpacker
	src  io.ReaderAt
	root int
	dir  int    // the open directory; -1 is none
	path string // of dir
}

func (w *indexWriter) close() {
	if w.dir >= 0 {
		unix.Close(w.dir)
	}
}

func (w *indexWriter) file(e *indexed) (err error) {
	dir, name := e.split()
	if w.dir < 0 || dir != w.path {
		w.close()
		if w.dir, err = open(w.root, "./"+dir, unix.O_PATH|unix.O_DIRECTORY, 0); err != nil {
			return err
		}
		w.path = dir
	}
	mode := e.mode&0o777 | 0o400
	fd, err := create(w.dir, name, mode)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	h := &tar.Header{Name: e.path, Size: e.size, ModTime: e.time, PAXRecords: e.pax}
	return w.fill(fd, io.NewSectionReader(w.src, e.at, e.size), h, mode)
}

// mkdir makes a directory if it is missing.
func (e *indexed) mkdir(root int) error {
	if err := unix.Mkdirat(root, e.path, 0o700); err != unix.EEXIST {
		return err
	}
	return nil // directory fails if it is none
}

// symlink makes a symbolic link.
func (e *indexed) symlink(root int) error {
	if err := unix.Symlinkat(e.text, root, e.path); err != nil {
		return err
	}
	return setTime(root, e.path, timespec(e.time), unix.AT_SYMLINK_NOFOLLOW)
}

// directory sets the attributes, mode and time of a directory, after all that is in it.
func (e *indexed) directory(root int) error {
	fd, err := open(root, e.path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	u := unpacker{stats: &Stats{}, path: stack{{fd: fd}}}
	err = u.directory(&tar.Header{Name: e.path, Mode: int64(e.mode), PAXRecords: e.pax})
	return errors.Join(err, setTime(fd, "", timespec(e.time), unix.AT_EMPTY_PATH))
}

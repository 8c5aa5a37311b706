package layer

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
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
	lists map[byte][]indexed // by the type of the entry
}

// indexed is one file.
type indexed struct {
	path string
	text string // the target of a link
	mode uint32
	time time.Time
	size int64
	src  io.ReaderAt       // the layer
	at   int64             // offset of the content in it
	pax  map[string]string // nil if it has no extended attributes
}

// split returns the directory, "" or ending in a slash, and the name in it.
func (e *indexed) split() (dir, name string) { return path.Split(e.path) }

// errForeign is the error for a layer that Pack would not have written.
var errForeign = errors.New("it is not the layer of a plain tree")

// NewIndex reads the headers of a layer, which must not change as long as the Index is used.
func NewIndex(src *io.SectionReader) (*Index, error) {
	x := &Index{map[byte][]indexed{}}
	return x, entries(src, func(kind byte, e *indexed) error {
		if strings.HasPrefix(path.Base(e.path), whiteoutPrefix) {
			return errForeign
		}
		x.lists[kind] = append(x.lists[kind], *e)
		return nil
	})
}

// entries calls do with each entry of a layer and its type.
func entries(src *io.SectionReader, do func(kind byte, e *indexed) error) error {
	for t := tar.NewReader(src); ; {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		e, err := entryOf(h, src)
		if err == nil {
			err = do(h.Typeflag, e)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", words.Quote(h.Name), err)
		}
	}
}

func entryOf(h *tar.Header, src *io.SectionReader) (*indexed, error) {
	names, err := split(h.Name)
	if err == nil && len(names) == 0 {
		err = errForeign
	}
	if err != nil {
		return nil, err
	}
	e := &indexed{path: strings.Join(names, "/"), text: h.Linkname, mode: uint32(h.Mode), time: h.ModTime, size: h.Size,
		src: src}
	for record := range h.PAXRecords {
		if strings.HasPrefix(record, paxXattr) {
			e.pax = h.PAXRecords
		}
	}
	switch h.Typeflag {
	case tar.TypeDir, tar.TypeReg, tar.TypeSymlink:
	case tar.TypeLink:
		if names, err = split(h.Linkname); err != nil {
			return nil, err
		}
		e.text = strings.Join(names, "/")
	default:
		return nil, errForeign
	}
	e.at, err = src.Seek(0, io.SeekCurrent) // archive/tar reads blocks and nothing ahead
	return e, err
}

// Change applies a layer that a later Pack with the same Table has written. It must not change either.
func (x *Index) Change(src *io.SectionReader) error {
	changes := map[byte][]indexed{}
	replaced, gone := map[string]bool{}, map[string]bool{} // what is below a name is gone with it
	err := entries(src, func(kind byte, e *indexed) error {
		dir, name := e.split()
		if old, ok := strings.CutPrefix(name, whiteoutPrefix); ok {
			gone[dir+old] = true
			return nil
		}
		changes[kind] = append(changes[kind], *e)
		replaced[e.path] = true
		if kind != tar.TypeDir {
			gone[e.path] = true
		}
		return nil
	})
	for kind, list := range x.lists {
		x.lists[kind] = slices.DeleteFunc(list, func(e indexed) bool { return replaced[e.path] || below(gone, e.path) })
	}
	for kind, list := range changes {
		x.lists[kind] = append(x.lists[kind], list...)
	}
	slices.SortFunc(x.lists[tar.TypeDir], func(a, b indexed) int { return strings.Compare(a.path, b.path) })
	return err
}

// below reports whether one of the names is a path, or a directory that it is in.
func below(names map[string]bool, p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if names[p] {
			return true
		}
	}
	return false
}

// Unpack writes the files to a directory that no other process uses and that is empty, or has some of the layer's
// directories. It makes the directories, then the files in several threads, and symbolic links last, so that no name
// leads through one. as calls a function with the ids of the files' owner.
func (x *Index) Unpack(root *os.File, as func(func() error) error) error {
	return sys.Control(root, func(fd int) error {
		err := as(func() error { return each(x.lists[tar.TypeDir], func(e *indexed) error { return e.mkdir(fd) }) })
		if err == nil {
			err = x.contents(fd, as)
		}
		if err != nil {
			return err
		}
		return as(func() error {
			err := each(x.lists[tar.TypeLink], func(e *indexed) error { return unix.Linkat(fd, e.text, fd, e.path, 0) })
			if err == nil {
				err = each(x.lists[tar.TypeSymlink], func(e *indexed) error { return e.symlink(fd) })
			}
			if err == nil {
				dirs := slices.Clone(x.lists[tar.TypeDir])
				slices.Reverse(dirs) // its owner may not enter a directory that has its mode
				err = each(dirs, func(e *indexed) error { return e.directory(fd) })
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
	files, errs := x.lists[tar.TypeReg], make(chan error, 4)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(cap(errs), runtime.GOMAXPROCS(0), len(files)) {
		all.Go(func() {
			errs <- as(func() error {
				w := &indexWriter{unpacker{stats: &Stats{}}, root, -1, ""}
				defer w.close()
				for n := next.Add(1); n <= int64(len(files)); n = next.Add(1) {
					if err := each(files[n-1:n], w.file); err != nil {
						next.Store(int64(len(files))) // the others end too
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
		if w.dir, err = sys.OpenBeneath(w.root, "./"+dir, unix.O_PATH|unix.O_DIRECTORY); err != nil {
			return err
		}
		w.path = dir
	}
	mode := e.mode & 0o777
	fd, err := create(w.dir, name, mode)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	h := &tar.Header{Name: e.path, Size: e.size, ModTime: e.time, PAXRecords: e.pax}
	return w.fill(fd, io.NewSectionReader(e.src, e.at, e.size), h, mode)
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
	fd, err := sys.OpenBeneath(root, e.path, readDir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	u := unpacker{stats: &Stats{}, path: stack{{fd: fd}}}
	if err = u.attributes(&tar.Header{Name: e.path, PAXRecords: e.pax}, fd); err == nil {
		err = unix.Fchmod(fd, e.mode&0o1777)
	}
	return errors.Join(err, setTime(fd, "", timespec(e.time), unix.AT_EMPTY_PATH))
}

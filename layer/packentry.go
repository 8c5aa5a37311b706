package layer

import (
	"archive/tar"
	"errors"
	"hash/maphash"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"brig/internal/owned"
	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// begin prepares for writing.
func (p *packer) begin(w io.Writer) {
	t := p.options.Table
	switch {
	case t == nil:
	case t.sums == nil:
		t.seed, t.sums = maphash.MakeSeed(), map[string]uint64{}
		w = io.MultiWriter(w, &p.hash)
		p.hash.SetSeed(t.seed)
	default:
		p.hash.SetSeed(t.seed)
		p.missing = map[string]struct{}{}
		for name := range t.sums {
			p.missing[name] = struct{}{}
		}
	}
	p.tar = tar.NewWriter(w)
}

// emit writes an entry, unless the Table has the same one and must is false. fd is the descriptor of a regular file.
func (p *packer) emit(h *tar.Header, fd int, must bool) (written bool, err error) {
	t := p.options.Table
	if t == nil {
		return true, p.write(p.tar, h, fd)
	}
	p.hash.Reset()
	if p.missing == nil {
		err := p.write(p.tar, h, fd)
		t.sums[h.Name] = p.hash.Sum64()
		return true, err
	}
	delete(p.missing, h.Name)
	if old, ok := t.sums[h.Name]; ok && !must {
		if err := p.write(tar.NewWriter(&p.hash), h, fd); err != nil || p.hash.Sum64() == old {
			return false, err
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
				return false, err
			}
		}
	}
	return true, p.write(p.tar, h, fd)
}

// write writes a whole entry.
func (p *packer) write(w *tar.Writer, h *tar.Header, fd int) error {
	err := w.WriteHeader(h)
	if err == nil && h.Size > 0 {
		err = p.copy(w, fd, h.Size)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// end writes a whiteout for each name of the Table that the tree has no more, but not for what was below such a
// directory.
func (p *packer) end() error {
	for _, name := range slices.Sorted(maps.Keys(p.missing)) {
		dir, last := path.Split(strings.TrimSuffix(name, "/"))
		if _, ok := p.missing[dir]; ok {
			continue
		}
		if err := p.whiteout(dir + whiteoutPrefix + last); err != nil {
			return err
		}
	}
	return p.tar.Close()
}

// maxKnown bounds, in bytes, the names that Pack keeps for hard links. Further files are written in full.
const maxKnown = 64 << 20

// file writes a regular file, or a hard link to a name that has been written.
func (p *packer) file(dir int, path, name string, st *unix.Stat_t) (err error) {
	h := p.header(st, path+name)
	fd, restore, err := owned.Open(dir, name, 0, 0o400)
	if err != nil {
		return p.gone(h.Name, err)
	}
	defer unix.Close(fd)
	defer func() { err = errors.Join(err, restore()) }()
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil {
		return err
	}
	if inodeOf(&now) != inodeOf(st) || now.Mode&unix.S_IFMT != unix.S_IFREG {
		return p.gone(h.Name, errChanged)
	}
	id, several := p.identify(fd, &now)
	if first := p.links[id]; several && first.name != "" {
		h.Typeflag, h.Linkname = tar.TypeLink, first.name
		_, err := p.emit(h, -1, first.written)
		return err
	}
	attr, err := p.attributes(fd, h)
	if err != nil {
		return err
	}
	if attr.whiteout && st.Size == 0 {
		return p.whiteout(path + whiteoutPrefix + name)
	}
	if err := p.bounds.content(st.Size); err != nil {
		return err
	}
	h.Typeflag, h.Size = tar.TypeReg, st.Size
	written, err := p.emit(h, fd, false)
	if several && p.known+len(h.Name) <= maxKnown {
		p.links[id] = linked{h.Name, written}
		p.known += len(h.Name)
	}
	return err
}

var errChanged = errors.New("it has changed while it was packed")

// copy writes the contents of a file.
func (p *packer) copy(w io.Writer, fd int, size int64) error {
	if p.buf == nil {
		p.buf = make([]byte, copySize)
	}
	for size > 0 {
		n, err := sys.Read(fd, p.buf[:min(size, copySize)])
		if err != nil {
			return err
		}
		if n == 0 && !p.options.Live {
			return errChanged
		}
		if n == 0 {
			n = int(min(size, copySize))
			clear(p.buf[:n])
		}
		if _, err := w.Write(p.buf[:n]); err != nil {
			return err
		}
		size -= int64(n)
	}
	return nil
}

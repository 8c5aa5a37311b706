package layer

import (
	"archive/tar"
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"brig/internal/owned"
	"brig/internal/sys"
)

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

package layer

import (
	"archive/tar"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"brig/internal/owned"
	"brig/internal/sys"
	"brig/internal/words"

	"golang.org/x/sys/unix"
)

// Pack writes a directory, which is the upper directory of an overlay or a plain tree, as one uncompressed layer. The
// directory itself has no entry. Files and directories that their owner cannot read are made readable and get their
// modes back. Without PackOptions.Live nothing else may change the tree meanwhile. o may be nil.
func Pack(w io.Writer, upper *os.File, o *PackOptions) (*Stats, error) {
	if o == nil {
		o = &PackOptions{}
	}
	p := &packer{stats: &Stats{}, bounds: newBounds(o.MaxBytes, o.MaxFiles, nil), options: o,
		links: map[identity]linked{}}
	p.begin(w)
	err := sys.Control(upper, p.run)
	if err == nil {
		err = p.end()
	}
	p.stats.Files, p.stats.Bytes = p.files, p.bytes
	return p.stats, err
}

// identity is that of a file with several names. Where others may change the tree it includes the file's handle
// (name_to_handle_at(2)), which no later file has, as opposed to its inode number.
type identity struct {
	inode
	handle string
}

// identify returns the identity of an open file, and whether other names of it become hard links: the handle is unknown
// on an overlayfs without nfs_export, say.
func (p *packer) identify(fd int, st *unix.Stat_t) (id identity, ok bool) {
	id.inode = inodeOf(st)
	if st.Nlink == 1 || !p.options.Live {
		return id, st.Nlink > 1
	}
	h, _, err := unix.NameToHandleAt(fd, "", unix.AT_EMPTY_PATH)
	if err != nil {
		return id, false
	}
	id.handle = string(h.Bytes())
	return id, true
}

// packer is the state of one Pack.
type packer struct {
	bounds
	tar     *tar.Writer
	stats   *Stats
	options *PackOptions
	links   map[identity]linked // files with several names
	known   int                 // bytes of these names
	buf     []byte
	hash    maphash.Hash        // of the entry that is written, for PackOptions.Table
	missing map[string]struct{} // names of PackOptions.Table that have not been met
}

// linked is the first name of a file with several, and whether this layer has the file.
type linked struct {
	name    string
	written bool
}

// run packs the open directory, from which a payload may have removed all permissions of its owner.
func (p *packer) run(fd int) (err error) {
	restore, err := owned.Lend(fd, 0o500)
	if err != nil {
		return fmt.Errorf("make the directory readable: %w", err)
	}
	defer func() { err = errors.Join(err, restore()) }()
	return p.children(fd, "")
}

// children writes the entries of an open directory, whose path ends with a slash or is empty.
func (p *packer) children(fd int, path string) error {
	names, err := owned.Names(fd)
	if err != nil {
		return fmt.Errorf("%s: %w", words.Quote(path), err)
	}
	if int64(len(names)) > p.maxFiles-p.files {
		return &LimitError{"files", p.maxFiles}
	}
	slices.Sort(names)
	for _, name := range names {
		if err := p.bounds.entry(); err != nil {
			return err
		}
		if err := p.entry(fd, path, name); err != nil {
			var limit *LimitError
			if errors.As(err, &limit) || errors.Is(err, errNamed) {
				return err
			}
			return fmt.Errorf("%w%s: %w", errNamed, words.Quote(path+name), err)
		}
	}
	return nil
}

// errNamed is in the errors that name a file. It has no text.
var errNamed = errors.New("")

// entry writes one name of a directory.
func (p *packer) entry(dir int, path, name string) error {
	full := path + name
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return p.gone(full, err)
	}
	switch {
	case len(full)+len(whiteoutPrefix) >= maxPath || strings.Count(full, "/") >= maxDepth:
		p.stats.leave(TooDeep, full)
		return nil
	case strings.HasPrefix(name, whiteoutPrefix):
		p.stats.leave(Reserved, full)
		return nil
	}
	kind := st.Mode & unix.S_IFMT
	skip := p.options.Skip != nil && p.options.Skip(full)
	if skip && (kind == unix.S_IFREG || kind == unix.S_IFLNK) {
		return nil
	}
	switch kind {
	case unix.S_IFREG:
		return p.file(dir, path, name, &st)
	case unix.S_IFDIR:
		return p.directory(dir, name, p.header(&st, full), skip)
	case unix.S_IFLNK:
		return p.symlink(dir, name, p.header(&st, full))
	case unix.S_IFCHR:
		if p.options.Overlay && st.Rdev == 0 {
			return p.whiteout(path + whiteoutPrefix + name)
		}
		p.stats.leave(Device, full)
	case unix.S_IFBLK:
		p.stats.leave(Device, full)
	case unix.S_IFIFO:
		p.stats.leave(FIFO, full)
	case unix.S_IFSOCK:
		p.stats.leave(Socket, full)
	}
	return nil
}

// gone returns nil for the error of a file that somebody has removed, replaced or leased (fcntl(2), EAGAIN), if others
// may.
func (p *packer) gone(name string, err error) error {
	others := []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EINVAL, unix.ENXIO, unix.EAGAIN, errChanged}
	if !p.options.Live || !slices.ContainsFunc(others, func(e error) bool { return errors.Is(err, e) }) {
		return err
	}
	p.stats.leave(Gone, name)
	return nil
}

// header returns what all types of entries have: their times in nanoseconds need the PAX format.
func (p *packer) header(st *unix.Stat_t, name string) *tar.Header {
	h := &tar.Header{Name: name, Mode: int64(st.Mode & 0o777), ModTime: time.Unix(st.Mtim.Unix()),
		Format: tar.FormatPAX}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		h.Mode |= int64(st.Mode & unix.S_ISVTX)
	}
	if st.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		p.stats.leave(SetID, name)
	}
	return h
}

// whiteout writes an entry that removes a name, or what is in an opaque directory.
func (p *packer) whiteout(name string) error {
	p.stats.Removed++
	return p.write(p.tar, &tar.Header{Typeflag: tar.TypeReg, Name: name, ModTime: time.Unix(0, 0),
		Format: tar.FormatPAX}, -1)
}

// symlink writes a symbolic link: readlinkat(2).
func (p *packer) symlink(dir int, name string, h *tar.Header) error {
	text := make([]byte, maxPath+1)
	n, err := unix.Readlinkat(dir, name, text)
	if err != nil {
		return p.gone(h.Name, err)
	}
	h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, string(text[:n]), 0o777
	_, err = p.emit(h, -1, false)
	return err
}

// directory writes a directory and what is in it.
func (p *packer) directory(parent int, name string, h *tar.Header, skip bool) (err error) {
	fd, restore, err := owned.Open(parent, name, unix.O_DIRECTORY, 0o500)
	if err != nil {
		return p.gone(h.Name, err)
	}
	defer unix.Close(fd)
	defer func() { err = errors.Join(err, restore()) }()
	h.Typeflag = tar.TypeDir
	h.Name += "/"
	attr, err := p.attributes(fd, h)
	if err != nil {
		return err
	}
	if !skip {
		if _, err := p.emit(h, -1, false); err != nil {
			return err
		}
	}
	if attr.opaque {
		if err := p.whiteout(h.Name + opaqueName); err != nil {
			return err
		}
	}
	return p.children(fd, h.Name)
}

package layer

import (
	"archive/tar"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"strings"

	"brig/internal/sys"
	"brig/internal/words"
)

// Unpack applies one uncompressed layer to a directory, which holds the layers below it. It reads to the end of the
// archive, not of r. After an error the directory is in between; the caller removes it. o may be nil.
//
// The caller must be the owner of everything in the directory or root, and the only one who changes it.
func Unpack(r io.Reader, dir *os.File, o *Options) (*Stats, error) {
	if o == nil {
		o = &Options{}
	}
	u := &unpacker{stats: &Stats{}, bounds: newBounds(o.MaxBytes, o.MaxFiles, o.Used),
		seed: maphash.MakeSeed(), written: map[uint64]struct{}{}, left: map[uint64]struct{}{}, cleared: map[inode]struct{}{}}
	if o.Used != nil {
		u.used = *o.Used
	}
	u.tar = tar.NewReader(&framed{r, min(u.maxFiles-u.files, 1<<40)*frame + min(u.maxBytes-u.bytes, 1<<61) + maxFrame,
		u.maxBytes})
	err := sys.Control(dir, u.run)
	u.stats.Files, u.stats.Bytes = u.files-u.used.Files, u.bytes-u.used.Bytes
	return u.stats, err
}

const (
	frame    = 4 << 10 // bytes of an archive for each entry besides its content, on average
	maxFrame = 8 << 20 // for few entries: archive/tar reads 1 MiB of a header
)

// framed fails after left bytes. Headers without files are no entries, and a compressed archive can have any number.
type framed struct {
	r    io.Reader
	left int64
	max  int64
}

// Read implements io.Reader.
func (f *framed) Read(b []byte) (int, error) {
	if f.left <= 0 {
		return 0, &LimitError{"bytes", f.max}
	}
	n, err := f.r.Read(b[:min(int64(len(b)), f.left)])
	f.left -= int64(n)
	return n, err
}

// unpacker is the state of one Unpack.
type unpacker struct {
	bounds
	tar   *tar.Reader
	stats *Stats
	used  Stats
	path  stack // the open directories on the way to the entry
	stale bool  // whether one of them may have been removed
	seed  maphash.Seed
	// written are the names that this layer has, as hashes of directory and name, since whiteouts leave those alone.
	// A hash does not depend on the path by which a name was reached. An inode number that is used again, after a
	// directory was removed, does no harm to written and cleared: a directory that is made meanwhile is this layer's, and
	// so is all that it holds.
	written map[uint64]struct{}
	cleared map[inode]struct{}  // directories that hold nothing of the layers below
	left    map[uint64]struct{} // hashes of the names of devices and others: hard links to them are left out too
	buf     []byte
}

func (u *unpacker) run(root int) (err error) {
	if err := u.path.start(root); err != nil {
		return fmt.Errorf("open the directory: %w", err)
	}
	defer func() { err = errors.Join(err, u.path.close(0)) }()
	for {
		h, err := u.tar.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		if err := u.entry(h); err != nil {
			if _, ok := errors.AsType[*LimitError](err); ok {
				return err
			}
			return fmt.Errorf("%s: %w", words.Quote(h.Name), err)
		}
	}
}

// damaged distinguishes an archive that cannot be read from a reader that fails.
func damaged(err error) error {
	if errors.Is(err, tar.ErrHeader) || errors.Is(err, tar.ErrFieldTooLong) || errors.Is(err, io.ErrUnexpectedEOF) ||
		err == io.EOF {
		return fmt.Errorf("not a tar archive, or a damaged one: %w", err)
	}
	return err
}

// entry applies one entry.
func (u *unpacker) entry(h *tar.Header) error {
	if err := u.bounds.entry(); err != nil {
		return err
	}
	names, err := split(h.Name)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return u.root(h)
	}
	if strings.HasPrefix(names[0], metaPrefix) && (len(names) > 1 || names[0] != opaqueName) {
		u.stats.leave(Reserved, h.Name) // .wh..wh.plnk and others are of aufs's, and mean nothing here
		return nil
	}
	for _, name := range names[:len(names)-1] {
		if strings.HasPrefix(name, whiteoutPrefix) {
			return errors.New("a directory has the name of a whiteout")
		}
	}
	if err := u.enter(names[:len(names)-1]); err != nil {
		return err
	}
	name := names[len(names)-1]
	if strings.HasPrefix(name, whiteoutPrefix) {
		return u.whiteout(name)
	}
	return u.write(h, strings.Join(names, "/"), name)
}

// split returns the components of an entry's name; none are the directory itself.
func split(name string) (names []string, err error) {
	if len(name) > maxPath {
		return nil, fmt.Errorf("a name of %d bytes, more than %d", len(name), maxPath)
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			return nil, errors.New(`".." in a name`)
		case len(strings.TrimPrefix(part, whiteoutPrefix)) > maxName:
			return nil, fmt.Errorf("%d bytes between two slashes, more than %d", len(part), maxName)
		default:
			names = append(names, part)
		}
	}
	if len(names) > maxDepth {
		return nil, fmt.Errorf("%d levels of directories, more than %d", len(names), maxDepth)
	}
	return names, nil
}

// root applies the entry "./".
func (u *unpacker) root(h *tar.Header) error {
	if h.Typeflag != tar.TypeDir {
		return errors.New("the directory itself cannot become anything else")
	}
	if err := u.path.close(1); err != nil {
		return err
	}
	return u.directory(h)
}

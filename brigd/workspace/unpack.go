package workspace

import (
	"archive/tar"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brig/brigd/job"
)

// TreeBounds bound what PutTree writes. 0 means that only the quota, and MaxTreeFiles, are limits.
type TreeBounds struct {
	Files    int64 // of the archive: files, directories and links
	Bytes    int64 // of all files together
	FileSize int64 // of each, in bytes
}

// PutTree writes the files of a tar archive below a directory, which it creates if it is missing. Existing files are
// replaced. It keeps the nine permission bits of each file, and no owner, set-user-ID bit, attribute or time. Devices,
// FIFOs, and names that are absolute or contain "..", are refused; no symbolic link is followed, also not one from the
// archive. What was written before an error stays. An archive that ends early is an error.
func (t *Tree) PutTree(path string, r io.Reader, b TreeBounds) (*TreeStats, error) {
	p, err := t.begin(path, parseArea)
	if err != nil {
		return nil, err
	}
	defer t.changed()
	u := &unpacker{t: t, top: p, bounds: b, until: time.Now().Add(treeTime)}
	fd, err := t.makeDirs(p, dirMode)
	if err != nil {
		return nil, explain("write", p, err)
	}
	unix.Close(fd)
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return &u.TreeStats, nil
		}
		if err != nil {
			return nil, refuse(CodeBadTree, "What was sent is no tar archive, or not all of one: %v", err)
		}
		if err := u.entry(h, tr); err != nil {
			return nil, err
		}
	}
}

type unpacker struct {
	TreeStats
	t      *Tree
	top    place
	bounds TreeBounds
	until  time.Time
}

// entry writes one entry of the archive.
func (u *unpacker) entry(h *tar.Header, content io.Reader) error {
	if h.Typeflag == tar.TypeXGlobalHeader {
		return nil // it is no file
	}
	p, no := u.place(h.Name)
	if no == nil {
		no = u.count(h, p)
	}
	if no != nil {
		return no
	}
	var err error
	switch h.Typeflag {
	case tar.TypeDir:
		err = u.dir(p, uint32(h.Mode)&0o777|0o700)
	case tar.TypeReg, tar.TypeGNUSparse:
		if len(p.names) == len(u.top.names) {
			return refuse(CodeBadPath, "The archive has a file without a name")
		}
		_, err = u.t.put(p, content, uint32(h.Mode)&0o777, u.bounds.FileSize)
	case tar.TypeSymlink, tar.TypeLink:
		err = u.link(h, p)
	default:
		return refuse(CodeNotRegular, "%s of the archive is a device, a FIFO or of another type that no sandbox holds",
			show(h.Name))
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errContent):
		return refuse(CodeBadTree, "The archive ends within %s", show(h.Name))
	}
	return explain("write", p, err)
}

// place returns where a name of the archive is.
func (u *unpacker) place(name string) (place, *job.Refusal) {
	p := place{names: u.top.names[:len(u.top.names):len(u.top.names)]}
	bad := path.IsAbs(name) || name == "" || strings.ContainsRune(name, 0)
	for n := range strings.SplitSeq(name, "/") {
		bad = bad || n == ".." || len(n) > nameMax
		if n != "" && n != "." {
			p.names = append(p.names, n)
		}
	}
	if bad || len(p.String()) >= pathMax {
		return p, refuse(CodeBadPath, `A name of the archive is absolute, too long, or has ".." in it: %s`, show(name))
	}
	return p, nil
}

// count counts an entry, and refuses one that is beyond the bounds.
func (u *unpacker) count(h *tar.Header, p place) *job.Refusal {
	u.Files++
	if h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeGNUSparse {
		u.Bytes += h.Size
	}
	most := int64(MaxTreeFiles)
	if u.bounds.Files > 0 {
		most = min(most, u.bounds.Files)
	}
	switch {
	case u.Files > most:
		return refuse(CodeTooLarge, "The archive has more than %d files", most)
	case u.Bytes < 0 || u.bounds.Bytes > 0 && u.Bytes > u.bounds.Bytes:
		return refuse(CodeTooLarge, "The files of the archive have more than %d bytes", u.bounds.Bytes)
	case time.Now().After(u.until):
		return refuse(CodeTooMuch, "To write %s and what came before it took more than %v", show(p.String()), treeTime)
	}
	return nil
}

// dir makes a directory, or sets the mode of one that there is.
func (u *unpacker) dir(p place, mode uint32) error {
	fd, err := u.t.makeDirs(p, dirMode)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if len(p.names) == len(u.top.names) {
		return nil // the directory itself keeps its mode
	}
	dir, err := openat2(fd, ".", readDir)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return u.t.give(dir, mode)
}

// link makes a symbolic link with any target, or a hard link to a file that the archive names. It is made under a
// temporary name, as a file is.
func (u *unpacker) link(h *tar.Header, p place) error {
	if len(p.names) == len(u.top.names) {
		return refuse(CodeBadPath, "The archive has a link without a name")
	}
	dir, _ := p.split()
	fd, err := u.t.makeDirs(dir, dirMode)
	if err != nil {
		return err
	}
	unix.Close(fd)
	staged := ".put-" + rand.Text()
	if h.Typeflag == tar.TypeSymlink {
		err = u.t.root(func(root int) error { return u.symlink(h.Linkname, root, staged) })
	} else {
		err = u.hardLink(h.Linkname, staged)
	}
	if err == nil {
		err = u.t.commit(staged, p)
	}
	return errors.Join(err, u.t.unstage(staged)) // renameat(2) leaves it if both are names of one file
}

func (u *unpacker) symlink(target string, root int, staged string) error {
	if err := unix.Symlinkat(target, root, staged); err != nil {
		return err
	}
	uid, gid := u.t.volume.Owner()
	if err := unix.Fchownat(root, staged, uid, gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("give it to the payload's user %d:%d: %s", uid, gid, err)
	}
	return nil
}

// hardLink makes a hard link to a regular file of the archive.
func (u *unpacker) hardLink(target, staged string) error {
	from, no := u.place(target)
	if no != nil {
		return no
	}
	dir, name := from.split()
	fd, err := u.t.open(dir, lookDir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return u.t.root(func(root int) error { return unix.Linkat(fd, name, root, staged, 0) }) // linkat(2)
}

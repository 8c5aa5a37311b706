package workspace

import (
	"errors"
	"io/fs"
	"sync"

	"golang.org/x/sys/unix"

	"brig/internal/owned"
)

// Tools change single files of a Tree where they are. The methods may be called concurrently.
type Tools struct {
	tree    *Tree
	editing sync.Mutex // held by Edit
}

// Stat describes one file of any type. It follows no symbolic link.
func (o *Tools) Stat(path string) (*Entry, error) {
	p, err := o.tree.begin(path, parse)
	if err != nil {
		return nil, err
	}
	e, err := o.stat(p)
	if err != nil {
		return nil, explain("describe", p, err)
	}
	return e, nil
}

func (o *Tools) stat(p place) (*Entry, error) {
	fd, err := o.tree.open(p, p.look())
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return entryOf(fd, p.String())
}

// MakeDir makes a directory, and missing ones above it with mode 0755. One that is there already stays as it is.
func (o *Tools) MakeDir(path string, perm fs.FileMode) (*Entry, error) {
	p, err := o.tree.begin(path, below)
	if err != nil {
		return nil, err
	}
	defer o.tree.changed()
	fd, err := o.tree.makeDirs(p, uint32(perm.Perm()))
	if err != nil {
		return nil, explain("make", p, err)
	}
	defer unix.Close(fd)
	e, err := entryOf(fd, p.String())
	if err != nil {
		return nil, explain("make", p, err)
	}
	return e, nil
}

// Chmod sets the nine permission bits of a file that is no symbolic link, and removes its other mode bits.
func (o *Tools) Chmod(path string, perm fs.FileMode) (*Entry, error) {
	p, err := o.tree.begin(path, below)
	if err != nil {
		return nil, err
	}
	defer o.tree.changed()
	e, err := o.chmod(p, uint32(perm.Perm()))
	if err != nil {
		return nil, explain("chmod", p, err)
	}
	return e, nil
}

func (o *Tools) chmod(p place, mode uint32) (*Entry, error) {
	fd, err := o.tree.open(p, p.look())
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	e, err := entryOf(fd, p.String())
	if err == nil && e.Type == "symlink" { // the type of what a descriptor refers to never changes
		err = unix.ELOOP
	}
	if err == nil {
		err = owned.Chmod(fd, mode)
	}
	if err != nil {
		return nil, err
	}
	return entryOf(fd, p.String())
}

// Move renames a file of any type, and makes missing directories above its new path. A symbolic link is moved itself.
// With overwrite it replaces a file, or an empty directory by a directory, as rename(2) does; otherwise what is there
// already is an error (CodeExists). The areas and files of a sandbox are in one file system, so nothing is copied.
func (o *Tools) Move(from, to string, overwrite bool) (*Entry, error) {
	q, err := below(to)
	if err != nil {
		return nil, err
	}
	p, err := o.tree.begin(from, below)
	if err != nil {
		return nil, err
	}
	p.slash = p.slash || q.slash // a path that ends in a slash is that of a directory
	defer o.tree.changed()
	if at, err := o.move(p, q, overwrite); err != nil {
		return nil, explain("move", at, err)
	}
	e, err := o.stat(q)
	if err != nil {
		return nil, explain("describe", q, err)
	}
	return e, nil
}

// move is Move. at is where an error has occurred.
func (o *Tools) move(p, q place, overwrite bool) (at place, err error) {
	seen, err := o.tree.open(p, p.look()) // before a directory is made in vain
	if err != nil {
		return p, err
	}
	unix.Close(seen)
	above, from := p.split()
	source, err := o.tree.open(above, lookDir)
	if err != nil {
		return p, err
	}
	defer unix.Close(source)
	above, to := q.split()
	target, err := o.tree.makeDirs(above, dirMode)
	if err != nil {
		return q, err
	}
	defer unix.Close(target)
	flags := uint(unix.RENAME_NOREPLACE)
	if overwrite {
		flags = 0
	}
	err = unix.Renameat2(source, from, target, to, flags)
	switch {
	case errors.Is(err, unix.ENOENT):
		return p, err // a payload has removed it
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOTEMPTY):
		err = refuse(CodeExists, "%s is there already", show(q.String()))
	case errors.Is(err, unix.EINVAL):
		err = refuse(CodeBadPath, "%s cannot be moved to a path below itself, %s", show(p.String()), show(q.String()))
	}
	return q, err
}

package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"brig/internal/sys"
)

// Put writes a file with the content of r, and creates missing parent directories. The file appears only when it is
// complete: an existing file is then replaced, and left unchanged on error. Only the nine permission bits of perm are
// used. More than max bytes are refused (CodeTooLarge); 0 means that only the quota is a limit (CodeDiskFull).
func (t *Tree) Put(path string, r io.Reader, perm fs.FileMode, max int64) (*Entry, error) {
	if max < 0 {
		return nil, refuse(CodeBadOption, "A file of at most %d bytes cannot be", max)
	}
	p, err := t.begin(path, parseFile)
	if err != nil {
		return nil, err
	}
	defer t.changed()
	e, err := t.put(p, r, uint32(perm.Perm()), max)
	if err != nil {
		return nil, explain("write", p, err)
	}
	return e, nil
}

func (t *Tree) put(p place, r io.Reader, perm uint32, max int64) (e *Entry, err error) {
	dir, _ := p.split()
	fd, err := t.makeDirs(dir, dirMode) // before the content is read, which may take long
	if err != nil {
		return nil, err
	}
	unix.Close(fd) // an open directory would keep the Volume alive while r blocks
	f, err := t.stage()
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := f.Close(); cerr != nil && !errors.Is(cerr, os.ErrClosed) && err == nil {
			err = cerr
		}
		if err != nil {
			err = errors.Join(err, t.unstage(f.Name()))
		}
	}()
	if err := copyContent(f, r, p, max); err != nil {
		return nil, err
	}
	err = sys.Control(f.File, func(fd int) error {
		if err := t.give(fd, perm); err != nil {
			return err
		}
		e, err = entryOf(fd, p.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	return e, t.commit(f.Name(), p)
}

// stage creates a temporary file in the Volume's root, which no jail sees.
func (t *Tree) stage() (*openFile, error) {
	name := ".put-" + rand.Text()
	fd, err := t.openat(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	f, err := t.hold(fd, name)
	if err != nil {
		return nil, errors.Join(err, t.unstage(name))
	}
	return f, nil
}

// unstage removes the file made by stage. It is not an error if the Volume is closed, since its files are gone.
func (t *Tree) unstage(name string) error {
	err := sys.Control(t.volume.Root(), func(root int) error { return unix.Unlinkat(root, name, 0) })
	if err == nil || err == unix.ENOENT || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return fmt.Errorf("remove the half-written file: %s", err)
}

// commit renames the temporary file to its final name. renameat(2) replaces an existing file.
func (t *Tree) commit(staged string, p place) error {
	dir, name := p.split()
	fd, err := t.open(dir, lookDir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return t.root(func(root int) error { return unix.Renameat(root, staged, fd, name) })
}

var errContent = errors.New("its content could not be read to the end")

// copyContent copies r to a file.
func copyContent(f io.Writer, r io.Reader, p place, max int64) error {
	buf := make([]byte, 64<<10)
	var total int64
	for idle := 0; idle < 100; idle++ {
		n, rerr := r.Read(buf)
		if n > 0 {
			idle = 0
			if total += int64(n); max > 0 && total > max {
				return refuse(CodeTooLarge, "%s would have more than %d bytes, the most that is taken", show(p.String()), max)
			}
			if _, err := f.Write(buf[:n]); err != nil {
				return err
			}
		}
		if rerr == io.EOF {
			return nil
		}
		if rerr != nil {
			// an errno in rerr would not be about the path
			return fmt.Errorf("%w: %s", errContent, rerr)
		}
	}
	return io.ErrNoProgress
}

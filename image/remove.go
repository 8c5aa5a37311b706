package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"brig/internal/store"
)

// Remove takes a name from the store, and its image with the last one; or an image with all its names, by its digest.
// It fails if a jail holds the image.
func (s *Store) Remove(text string) (names []string, gone *Image, err error) {
	m, err := s.Lookup(text)
	if err != nil {
		return nil, nil, err
	}
	e, err := s.edit()
	if err != nil {
		return nil, nil, err
	}
	defer e.dir.Close()
	work := ""
	err = e.withNames(func(list []link) error {
		var out []link
		left := 0
		for _, l := range list {
			if l.hex != m.Digest[len(sha256Prefix):] {
				continue
			}
			if left++; len(m.Names) == 0 || l.name.String() == m.Names[0] {
				out = append(out, l)
			}
		}
		if left == len(out) {
			if work, err = e.displace(m.Digest[len(sha256Prefix):]); err != nil {
				return err
			}
		}
		for _, l := range out {
			if err := e.dir.Unlink("names/" + l.name.file()); err != nil {
				return err
			}
			names = append(names, l.name.String())
		}
		return nil
	})
	if err != nil || work == "" {
		return names, nil, err
	}
	if err := e.dir.Drop(work); err != nil {
		return names, m, err
	}
	if f, err := e.locked("lock", unix.LOCK_EX|unix.LOCK_NB); err == nil { // else a prune takes the rest
		_, err = e.sweep()
		return names, m, errors.Join(err, f.Close())
	}
	return names, m, nil
}

// withNames calls f with all names, and holds the lock without which no process changes them.
func (e *editor) withNames(f func([]link) error) error {
	hold, err := e.locked("names.lock", unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer hold.Close()
	list, err := e.s.names()
	if err == nil {
		err = f(list)
	}
	return err
}

// displaced begins the names in work of images that are being removed.
const displaced = "old-"

// displace moves an image that no process holds to another name, and returns its path.
func (e *editor) displace(hex string) (string, error) {
	image := "images/" + hex
	dir, err := e.dir.Hold(image, unix.O_DIRECTORY, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, store.ErrBusy) {
		return "", fmt.Errorf("the image %s: a jail uses it; remove it when the jail has ended", sha256Prefix+hex)
	} else if err != nil {
		return "", err
	}
	defer dir.Close()
	temp, held, err := e.dir.Draft(store.Numbered("work/" + displaced))
	if err != nil {
		return "", err
	}
	return temp, errors.Join(e.dir.Rename(image, temp+"/"+hex), held.Close())
}

// Pruned is what Prune removed.
type Pruned struct {
	Images     []string `json:"images,omitempty"` // digests
	Unfinished int      `json:"unfinished"`       // images and blobs whose making was interrupted
	Blobs      int      `json:"blobs"`            // layers that no image has
	Files      int      `json:"files"`            // that no tree has
	Bytes      int64    `json:"bytes"`            // of blobs and files
}

// Prune removes images without a name, and the remains of interrupted additions and removals. It waits until no Writer
// is open.
func (s *Store) Prune() (p Pruned, err error) {
	if _, err := os.Lstat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	e, err := s.edit()
	if err != nil {
		return p, err
	}
	defer e.dir.Close()
	f, err := e.locked("lock", unix.LOCK_EX)
	if err != nil {
		return p, err
	}
	defer f.Close()
	return e.sweep()
}

// sweep is Prune for a caller that holds the lock.
func (e *editor) sweep() (p Pruned, err error) {
	if err := e.withNames(func(list []link) error { return e.nameless(list, &p) }); err != nil {
		return p, err
	}
	work, err := e.s.list("work", func(string) bool { return true })
	if err != nil {
		return p, err
	}
	for _, name := range work {
		if err := e.dir.Drop("work/" + name); err != nil {
			return p, err
		}
		if !strings.HasPrefix(name, displaced) {
			p.Unfinished++
		}
	}
	if err := e.sweepBlobs(&p); err != nil {
		return p, err
	}
	return p, e.sweepFiles(&p)
}

// nameless removes dangling names, and displaces images that have no name and that no process holds.
func (e *editor) nameless(list []link, p *Pruned) error {
	named := map[string]bool{}
	for _, l := range list {
		named[l.hex] = true
		if _, err := e.dir.Stat("images/" + l.hex); errors.Is(err, fs.ErrNotExist) {
			if err := e.dir.Unlink("names/" + l.name.file()); err != nil {
				return err
			}
		}
	}
	all, err := e.s.images()
	for _, hex := range all {
		if named[hex] {
			continue
		}
		if _, err := e.displace(hex); err == nil {
			p.Images = append(p.Images, sha256Prefix+hex)
		}
	}
	return err
}

// sweepBlobs removes the blobs that no image has.
func (e *editor) sweepBlobs(p *Pruned) error {
	used := map[string]bool{}
	list, err := e.s.List()
	if err != nil {
		return err
	}
	for _, m := range list {
		for _, l := range m.Layers {
			used[strings.TrimPrefix(l.Digest, sha256Prefix)] = true
		}
	}
	blobs, err := e.s.list("blobs", func(name string) bool { return !used[name] })
	for _, name := range blobs {
		st, serr := e.dir.Stat("blobs/" + name)
		if err = errors.Join(err, serr, e.dir.Unlink("blobs/"+name)); err != nil {
			return err
		}
		if p.Bytes += st.Size; strings.HasSuffix(name, ".part") {
			p.Unfinished++
		} else {
			p.Blobs++
		}
	}
	return err
}

// sweepFiles removes the shared files that no image links to.
func (e *editor) sweepFiles(p *Pruned) error {
	return walkDir(e.s.path("files"), func(parent int, name string, st *unix.Stat_t) error {
		if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink > 1 {
			return nil
		}
		p.Files++
		p.Bytes += st.Size
		return unix.Unlinkat(parent, name, 0)
	})
}

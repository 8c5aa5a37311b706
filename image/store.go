// Package image keeps images of containers as directories that a jail can have as its root: read, added, removed.
//
// A store is a directory of its caller's:
//
//	names/NAME           a symbolic link to images/HEX; each "/" of the full name is a "%"
//	images/HEX/          an image; HEX is the SHA-256 of its manifest
//	  image.json         what brig needs of it: type Image
//	  start              what a start needs: the same Config, see Store.Start
//	  manifest.json      the OCI manifest and configuration, byte by byte
//	  config.json
//	  tree/              the root: all layers, one on top of the other
//	files/HH/HEX-MODE-T  the regular files of all trees, as hard links; T is the time of modification
//	blobs/HEX            the layers, compressed, as they came; HEX.part is one that is being received
//	work/HEX/            an image in the making
//
// A file or directory whose name is a digest is complete: it is written under another name, synced and renamed. A
// process that makes an image or receives a layer holds a flock(2) on work/HEX or HEX.part, and one that runs an image
// a shared lock on images/HEX. Who changes the store follows no link in it; the five directories are no links either.
package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"brig/internal/store"
	"brig/internal/sys"
	"brig/internal/words"
)

// Store is a store of images. It may be used by many processes at once.
type Store struct{ dir string }

// DefaultStore returns the directory of the caller's store: /var/lib/brig/images for root, and brig/images in
// $XDG_DATA_HOME or ~/.local/share for anybody else. It fails if neither XDG_DATA_HOME nor HOME is an absolute path.
func DefaultStore() (string, error) {
	if dir := store.DataDir(); dir != "" {
		return filepath.Join(dir, "images"), nil
	}
	return "", errors.New("there is no place for images: set XDG_DATA_HOME or HOME to an absolute path, or name a store")
}

// Open returns the store in a directory; "" is DefaultStore. If the directory does not exist, the store is empty, and
// Add makes it. It is refused if another user owns it, or may write to it.
func Open(dir string) (s *Store, err error) {
	if dir == "" {
		dir, err = DefaultStore()
	} else {
		dir, err = sys.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Stat(dir, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		err = unix.ENOTDIR
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &Store{dir}, nil
	case err != nil:
		return nil, fmt.Errorf("the image store: %w", &os.PathError{Op: "open", Path: dir, Err: err})
	case store.Check(&st, store.Writing) != nil:
		return nil, fmt.Errorf("the image store %s: it belongs to user %d and has mode %04o; use a directory of your own "+
			"that nobody else may write to", words.Quote(dir), st.Uid, st.Mode&0o7777)
	}
	return &Store{dir}, nil
}

// Dir returns the store's directory, an absolute path.
func (s *Store) Dir() string { return s.dir }

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

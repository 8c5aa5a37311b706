package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"brig/internal/store"
	"brig/internal/sys"
	"brig/internal/words"
)

// ErrNotFound is the error of Lookup for a name that the store does not have.
var ErrNotFound = errors.New("no such image")

// Image is an image of a store: image.json, its names and its place.
type Image struct {
	Digest   string    `json:"digest"`             // of the manifest: sha256:HEX
	Names    []string  `json:"names,omitempty"`    // full, sorted; from Lookup the one that was looked up
	Platform string    `json:"platform,omitempty"` // linux/amd64
	Created  time.Time `json:"created,omitzero"`   // as its configuration has it
	Added    time.Time `json:"added,omitzero"`     // to this store
	Source   string    `json:"source,omitempty"`   // where it came from
	Files    int64     `json:"files"`              // of the tree: all that has a name
	Size     int64     `json:"size"`               // of its regular files, in bytes
	LeftOut  []string  `json:"left_out,omitempty"` // what its layers have and the tree lacks, in sentences
	Layers   []Layer   `json:"layers"`             // from the bottom
	Config   Config    `json:"config"`
	Tree     string    `json:"-"` // the directory of its root, an absolute path
}

// Layer is a layer of an image.
type Layer struct {
	Digest    string `json:"digest"` // as it is kept, compressed
	DiffID    string `json:"diff_id"`
	Size      int64  `json:"size"` // compressed, in bytes
	MediaType string `json:"media_type"`
}

// Config describes the processes of an image, as the OCI image specification has it.
type Config struct {
	Env        []string          `json:"Env,omitempty"` // NAME=VALUE
	Entrypoint []string          `json:"Entrypoint,omitempty"`
	Cmd        []string          `json:"Cmd,omitempty"`
	WorkingDir string            `json:"WorkingDir,omitempty"`
	User       string            `json:"User,omitempty"` // user, uid, user:group, uid:gid
	Labels     map[string]string `json:"Labels,omitempty"`
}

// Lookup returns the image with a name, a digest, or at least 4 digits that begin the digest of only one. The error is
// ErrNotFound if there is none.
func (s *Store) Lookup(text string) (*Image, error) {
	hex, names, err := s.find(text)
	if err != nil {
		return nil, err
	}
	return s.load(hex, names...)
}

// find returns the digest of the image that Lookup returns, and the name by which it was found, if any.
func (s *Store) find(text string) (hex string, names []string, err error) {
	n, err := ParseName(text)
	if err == nil {
		link, rerr := os.Readlink(s.path("names", n.file()))
		switch {
		case rerr == nil && isHex(filepath.Base(link), hexBytes):
			return filepath.Base(link), []string{n.String()}, nil
		case rerr == nil:
			return "", nil, fmt.Errorf("the image store: a name links to %s, which is no digest", words.Quote(link))
		case !errors.Is(rerr, fs.ErrNotExist):
			return "", nil, fmt.Errorf("the image store: %w", rerr)
		}
	}
	hex = strings.TrimPrefix(text, sha256Prefix)
	if n.Digest != "" {
		hex = strings.TrimPrefix(n.Digest, sha256Prefix)
	}
	if !isHex(hex, 4) {
		if err != nil {
			return "", nil, err
		}
		return "", nil, fmt.Errorf("%w: %s", ErrNotFound, n.Familiar())
	}
	all, err := s.images()
	if err != nil {
		return "", nil, err
	}
	all = slices.DeleteFunc(all, func(h string) bool { return !strings.HasPrefix(h, hex) })
	switch len(all) {
	case 0:
		return "", nil, fmt.Errorf("%w: %s", ErrNotFound, words.Quote(text))
	case 1:
		return all[0], nil, nil
	}
	return "", nil, fmt.Errorf("%d images have a digest that begins with %s; write more of it", len(all), hex)
}

// List returns all images with their names, in the order of their digests.
func (s *Store) List() (list []*Image, err error) {
	all, err := s.images()
	if err != nil {
		return nil, err
	}
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	for _, hex := range all {
		m, err := s.load(hex)
		if errors.Is(err, ErrNotFound) { // removed at this moment
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if n.hex == hex {
				m.Names = append(m.Names, n.name.String())
			}
		}
		list = append(list, m)
	}
	return list, nil
}

// Hold keeps an image from being removed until the file that it returns is closed or the process ends. It fails if the
// image was removed after Lookup.
func (m *Image) Hold() (*os.File, error) {
	dir := filepath.Dir(m.Tree)
	f, err := store.Hold(dir, unix.O_DIRECTORY, unix.LOCK_SH) // waits for a removal, which takes a moment
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the image %s has been removed", m.Digest)
	}
	if err != nil {
		return nil, fmt.Errorf("the image %s: %w", m.Digest, err)
	}
	return f, nil
}

// load reads a complete image.
func (s *Store) load(hex string, names ...string) (*Image, error) {
	path := s.path("images", hex, "image.json")
	text, err := sys.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, sha256Prefix+hex)
	}
	m := s.image(hex, names)
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		return nil, fmt.Errorf("the image store: %s: %w", words.Quote(path), err)
	}
	m.Digest, m.Names = sha256Prefix+hex, names // whatever the file says
	return m, nil
}

func (s *Store) image(hex string, names []string) *Image {
	return &Image{Digest: sha256Prefix + hex, Names: names, Tree: s.path("images", hex, "tree")}
}

// images lists the complete images, sorted.
func (s *Store) images() (list []string, err error) {
	return s.list("images", func(name string) bool { return isHex(name, hexBytes) })
}

// list lists the entries of a directory of the store, sorted. A directory that does not exist is empty.
func (s *Store) list(dir string, ours func(string) bool) (list []string, err error) {
	entries, err := os.ReadDir(s.path(dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the image store: %w", err)
	}
	for _, e := range entries {
		if ours(e.Name()) {
			list = append(list, e.Name())
		}
	}
	return list, nil
}

// link is a name and the image that it is of.
type link struct {
	name Name
	hex  string
}

// names lists the names, sorted.
func (s *Store) names() (list []link, err error) {
	files, err := s.list("names", func(name string) bool { return !strings.HasPrefix(name, ".") })
	for _, f := range files {
		n, nerr := nameOfFile(f)
		to, lerr := os.Readlink(s.path("names", f))
		if nerr == nil && lerr == nil {
			list = append(list, link{n, filepath.Base(to)})
		}
	}
	return list, err
}

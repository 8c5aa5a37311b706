package changes

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

const (
	version      = 1
	filesMedia   = "application/vnd.brig.changes.files.v1+ndjson"
	layerMedia   = "application/vnd.oci.image.layer.v1.tar"
	maxHeader    = 4 << 20   // bytes of set.json: the command and the protected paths may be long
	maxFiles     = 1_000_000 // changes of a set
	maxLeftOut   = 100
	permissions  = 0o777
	digestPrefix = "sha256:"
)

// parse reads set.json.
func (h *Header) parse(text []byte) error {
	if err := strict(text, h); err != nil {
		return err
	}
	if h.Version != version {
		return fmt.Errorf("its version is %d, and this brig reads %d", h.Version, version)
	}
	for _, b := range []*Blob{&h.Table, &h.Layer} {
		if digits, ok := strings.CutPrefix(b.Digest, digestPrefix); !ok || !isDigest(digits) || b.Size < 0 {
			return errors.New("it has no digest of its files")
		}
	}
	if h.Table.MediaType != filesMedia || h.Layer.MediaType != layerMedia {
		return errors.New("its files have unknown types")
	}
	return nil
}

// strict reads one JSON value without unknown keys.
func strict(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is data after the value")
	}
	return nil
}

// parseFiles reads files.json. The paths must be in the order of their names, each once.
func parseFiles(r io.Reader) (files []*File, err error) {
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	last := ""
	for in.More() {
		f := &File{index: len(files)}
		err := in.Decode(f)
		if err == nil {
			err = f.check()
		}
		// What is in a directory follows it at once: a slash comes before all other bytes of a name.
		path := strings.ReplaceAll(string(f.Path), "/", "\x00")
		if err == nil && path <= last {
			err = errors.New("it is not in order")
		}
		if err == nil && len(files) == maxFiles {
			err = fmt.Errorf("there are more than %d", maxFiles)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(files)+1, err)
		}
		files, last = append(files, f), path
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, errors.New("it ends within a line")
	}
	return files, nil
}

// check returns an error if Capture cannot have made this change.
func (f *File) check() error {
	if err := checkPath(string(f.Path)); err != nil {
		return err
	}
	if f.Old == nil && f.New == nil || f.Added < 0 || f.Removed < 0 {
		return errors.New("it is no change")
	}
	for _, s := range []*State{f.Old, f.New} {
		if s == nil {
			continue
		}
		known := kindIs(s, Regular, Directory, Symlink) || s.Kind == Other && s == f.Old
		unread := s.SHA256 == "" && (s.Kind != Regular || s == f.Old)
		if !known || s.Mode&^permissions != 0 || s.Size < 0 || !unread && !isDigest(s.SHA256) {
			return errors.New("it is no state of a file")
		}
		if len(s.Target) >= pathMax || strings.IndexByte(string(s.Target), 0) >= 0 ||
			(s.Target == "") == (s.Kind == Symlink) {
			return errors.New("it is no symbolic link")
		}
		for _, a := range s.XAttrs {
			if a.Name == "" || len(a.Name) > nameMax || strings.IndexByte(string(a.Name), 0) >= 0 {
				return errors.New("it has an attribute without a name")
			}
		}
	}
	return nil
}

// sum hashes and counts what is written to it.
type sum struct {
	hash.Hash
	size int64
}

func newSum() *sum { return &sum{Hash: sha256.New()} }

// Write implements io.Writer.
func (s *sum) Write(b []byte) (int, error) {
	s.size += int64(len(b))
	return s.Hash.Write(b)
}

// digest returns the SHA-256 in hexadecimal.
func (s *sum) digest() string { return hex.EncodeToString(s.Sum(nil)) }

// digest returns the SHA-256 of a text in hexadecimal.
func digest(text []byte) string {
	s := newSum()
	_, _ = s.Write(text) // it never fails: package hash
	return s.digest()
}

// isDigest reports whether s is a SHA-256 in hexadecimal.
func isDigest(s string) bool { return len(s) == 2*sha256.Size && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

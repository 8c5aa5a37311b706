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
	version      = 2 // of what is written; 1 has the whole state of each name of a file
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
	if h.Version != version && h.Version != 1 {
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

// fileLine is a line of files.json. As is that of the first name of a file with several, whose New is not repeated.
type fileLine struct {
	File
	As *int `json:"as,omitempty"`
}

func lineOf(f *File) *fileLine {
	line := &fileLine{File: *f}
	if f.first != nil {
		line.New, line.As = nil, &f.first.index
	}
	return line
}

// change returns the change of a line that follows others.
func (l *fileLine) change(before []*File) (*File, error) {
	f := &l.File
	f.index = len(before)
	if l.As == nil {
		return f, f.check()
	}
	if *l.As < 0 || *l.As >= len(before) || f.New != nil {
		return nil, errors.New("it has the content of no line before it")
	}
	if f.first = before[*l.As]; f.first.first != nil || !kindIs(f.first.New, Regular) {
		return nil, errors.New("it has the content of a line that is no file")
	}
	f.New = f.first.New
	return f, f.check()
}

// parseFiles reads files.json. The paths must be in the order of their names, each once.
func parseFiles(r io.Reader) (files []*File, err error) {
	in := json.NewDecoder(r)
	in.DisallowUnknownFields()
	last, names := Name(""), int64(0)
	for in.More() {
		var f *File
		line := new(fileLine)
		err := in.Decode(line)
		if err == nil {
			f, err = line.change(files)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(files)+1, err)
		}
		if names += line.names(); names > 2*maxNames {
			return nil, fmt.Errorf("it has more than %d bytes of names and attributes", 2*maxNames)
		}
		if f.Path == itself && len(files) == 0 {
			files = append(files, f)
			continue
		}
		switch {
		case !precedes(last, f.Path):
			err = errors.New("it is not in order")
		case len(files) == maxFiles:
			err = fmt.Errorf("there are more than %d", maxFiles)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(files)+1, err)
		}
		files, last = append(files, f), f.Path
	}
	if _, err := in.Token(); err != io.EOF {
		return nil, errors.New("it ends within a line")
	}
	return files, nil
}

// precedes reports whether a path comes before another one. What is in a directory follows it at once: a slash comes
// before all other bytes of a name.
func precedes(a, b Name) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] == '/' || b[i] != '/' && a[i] < b[i]
		}
	}
	return len(a) < len(b)
}

// names returns the bytes of a line's names and attributes.
func (l *fileLine) names() int64 {
	n := int64(len(l.Path))
	for _, s := range []*State{l.Old, l.New} {
		if s != nil && (l.As == nil || s != l.New) {
			n += int64(len(s.Target)) + s.attributes()
		}
	}
	return n
}

// check returns an error if Capture cannot have made this change.
func (f *File) check() error {
	if err := checkPath(string(f.Path)); err != nil && (f.Path != itself || f.index > 0 || f.Op() != "changed" ||
		!kindIs(f.Old, Directory) || !kindIs(f.New, Directory)) {
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

// maxNames bounds the bytes of all paths, targets of links and attributes of a set, all of which its readers hold in
// memory.
const maxNames = 64 << 20

package workspace

import (
	"bytes"
	"io"
	"io/fs"

	"brig/internal/sys"

	"golang.org/x/sys/unix"
)

// MaxEdit is the maximum size in bytes of a file that Edit changes, before and after the change.
const MaxEdit = 8 << 20

// Edit is a change of a file's text.
type Edit struct {
	// Old is the text to replace. It must occur once in the file, unless All is set.
	Old string `json:"old"`
	// New is what replaces it; nothing if left out.
	New string `json:"new,omitempty"`
	// All is whether to replace Old wherever it occurs.
	All bool `json:"all,omitempty"`
}

// Edit replaces a text of a file by another one. It calls write, which is Tree.Put or wraps it, with the new content
// and the file's permissions. It returns how often it has replaced the text. Calls of Edit wait for each other, so that
// none undoes another's change; what a payload writes to the file meanwhile is lost.
func (o *Tools) Edit(path string, edit Edit, write func(r io.Reader, perm fs.FileMode) (*Entry, error)) (e *Entry,
	n int, err error) {
	p, err := o.tree.begin(path, parseFile)
	if err != nil {
		return nil, 0, err
	}
	o.editing.Lock()
	defer o.editing.Unlock()
	text, perm, err := o.text(p)
	if err == nil {
		text, n, err = edit.apply(p, text)
	}
	if err != nil {
		return nil, 0, explain("edit", p, err)
	}
	e, err = write(bytes.NewReader(text), perm)
	return e, n, err
}

// text reads a regular file of at most MaxEdit bytes.
func (o *Tools) text(p place) (text []byte, perm fs.FileMode, err error) {
	fd, err := o.tree.openRegular(p)
	if err != nil {
		return nil, 0, err
	}
	f, err := o.tree.hold(fd, p.String())
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := sys.Control(f.File, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return nil, 0, err
	}
	if st.Size <= MaxEdit { // a sparse file may be larger than memory, and any may grow
		text, err = io.ReadAll(io.LimitReader(f, MaxEdit+1))
	}
	if err == nil && (st.Size > MaxEdit || len(text) > MaxEdit) {
		err = tooLong(p)
	}
	return text, fs.FileMode(st.Mode & 0o777), err
}

func tooLong(p place) error {
	return refuse(CodeTooLarge, "%s has, or would have, more than %d bytes, the most that is edited", show(p.String()),
		MaxEdit)
}

// apply returns a text with the change made, and how often Old was in it.
func (e *Edit) apply(p place, text []byte) ([]byte, int, error) {
	was, is := []byte(e.Old), []byte(e.New)
	switch {
	case e.Old == "":
		return nil, 0, refuse(CodeBadOption, "The text to replace is empty")
	case e.Old == e.New:
		return nil, 0, refuse(CodeBadOption, "The text to replace, and the one that replaces it, are the same")
	}
	n := bytes.Count(text, was)
	if n == 1 && !e.All && bytes.Contains(text[bytes.Index(text, was)+1:], was) {
		n = 2 // they overlap
	}
	switch {
	case n == 0:
		return nil, 0, refuse(CodeNoText, "The text to replace does not occur in %s", show(p.String()))
	case n > 1 && !e.All:
		return nil, 0, refuse(CodeManyTexts, "The text to replace occurs %d times in %s", n, show(p.String()))
	case len(text)+n*(len(is)-len(was)) > MaxEdit:
		return nil, 0, tooLong(p)
	}
	return bytes.ReplaceAll(text, was, is), n, nil
}
